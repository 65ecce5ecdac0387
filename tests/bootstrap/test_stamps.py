"""Stamps say for which inputs a step was done."""

from pathlib import Path

from memoryapp.bootstrap import stamps


class TestStamps:
    def test_a_step_is_fresh_only_for_the_inputs_it_was_done_with(self) -> None:
        assert not stamps.is_fresh("runtime", "a")
        stamps.mark("runtime", "a")
        assert stamps.is_fresh("runtime", "a")
        assert not stamps.is_fresh("runtime", "b")

    def test_the_order_and_the_borders_of_inputs_count(self) -> None:
        assert len({stamps.digest("a", "b"), stamps.digest("b", "a"), stamps.digest("ab")}) == 3

    def test_a_tree_s_digest_sees_new_changed_and_removed_files(self, tmp_path: Path) -> None:
        folder = tmp_path / "tree"
        (folder / "sub").mkdir(parents=True)
        seen = [stamps.tree_digest(folder)]
        (folder / "sub" / "a.css").write_text("a")
        seen.append(stamps.tree_digest(folder))
        (folder / "sub" / "a.css").write_text("ab")
        seen.append(stamps.tree_digest(folder))
        (folder / "sub" / "a.css").unlink()
        assert stamps.tree_digest(folder) == seen[0]
        assert len(set(seen)) == 3
