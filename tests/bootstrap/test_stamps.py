"""Stamps record the inputs for which a step was done."""

from pathlib import Path

from memoryapp.bootstrap import environment


class TestStamps:
    def test_a_step_is_done_only_for_the_same_inputs(self) -> None:
        assert not environment.is_done("runtime", "a")
        environment.mark_done("runtime", "a")
        assert environment.is_done("runtime", "a")
        assert not environment.is_done("runtime", "b")

    def test_order_and_boundaries_of_inputs_change_the_hash(self) -> None:
        assert (
            len({environment.hash_of("a", "b"), environment.hash_of("b", "a"), environment.hash_of("ab")})
            == 3
        )

    def test_the_hash_of_a_tree_changes_with_new_and_changed_and_removed_files(self, tmp_path: Path) -> None:
        folder = tmp_path / "tree"
        (folder / "sub").mkdir(parents=True)
        seen = [environment.hash_of_tree(folder)]
        (folder / "sub" / "a.css").write_text("a")
        seen.append(environment.hash_of_tree(folder))
        (folder / "sub" / "a.css").write_text("ab")
        seen.append(environment.hash_of_tree(folder))
        (folder / "sub" / "a.css").unlink()
        assert environment.hash_of_tree(folder) == seen[0]
        assert len(set(seen)) == 3
