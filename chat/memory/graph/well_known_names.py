"""Well-known names of tools and places, which determine the entity type: "likes Rust", "likes Lisbon"."""

from __future__ import annotations

from .types import EntityType


def _split_names(text: str, separator: str | None = None) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(separator))


# Compared with case, so that the verb "go" is not taken for the language "Go".
TOOLS = _split_names(
    """
    Python JavaScript TypeScript Rust Go Golang Java Kotlin Swift Ruby PHP Perl Scala Haskell Elixir Erlang
    Clojure OCaml Julia Lua Dart Zig COBOL Fortran SQL HTML CSS Bash Zsh C C++ C# F# R MATLAB Prolog Lisp
    Django Flask FastAPI Rails React Vue Angular Svelte Next.js Node Node.js Deno Bun Laravel Spring htmx
    Tailwind Bootstrap jQuery Qt Flutter Electron Unity Godot Unreal Phoenix
    Postgres PostgreSQL MySQL SQLite Redis MongoDB Kafka Elasticsearch DuckDB Cassandra
    Docker Kubernetes Terraform Ansible Jenkins Git GitHub GitLab Linux Ubuntu Debian Fedora NixOS Windows
    macOS iOS Android AWS Azure Heroku nginx Grafana Prometheus Arduino
    Vim Neovim Emacs VSCode PyCharm IntelliJ Xcode Sublime Jupyter pandas NumPy numpy PyTorch TensorFlow
    Excel Word PowerPoint Outlook Teams Slack Jira Confluence Notion Obsidian Trello Asana Linear Evernote
    LibreOffice LaTeX Figma Sketch Photoshop Illustrator InDesign Lightroom GIMP Inkscape Blender Krita
    AutoCAD SketchUp Revit SolidWorks FreeCAD Ableton Audacity Scrivener Zoom Airtable Tableau SAP Salesforce
    Firefox Chrome Safari Thunderbird Signal WhatsApp Telegram Anki Zotero Strava Garmin Raspberry
    """
)

_PLACES = _split_names(
    """
    Lisbon,Paris,London,Berlin,Munich,Hamburg,Cologne,Vienna,Zurich,Geneva,Basel,Madrid,Barcelona,Seville,
    Valencia,Rome,Milan,Naples,Turin,Venice,Florence,Athens,Oslo,Bergen,Stockholm,Copenhagen,Helsinki,Dublin,
    Edinburgh,Glasgow,Manchester,Amsterdam,Rotterdam,Brussels,Ghent,Prague,Warsaw,Krakow,Budapest,Bucharest,
    Sofia,Belgrade,Zagreb,Kyiv,Lviv,Istanbul,Ankara,Moscow,Cairo,Nairobi,Lagos,Accra,Dakar,Tunis,Casablanca,
    Johannesburg,Cape Town,New York,Boston,Chicago,Seattle,San Francisco,Los Angeles,Austin,Denver,Toronto,
    Montreal,Vancouver,Mexico City,Havana,Bogotá,Lima,Quito,Santiago,Buenos Aires,Montevideo,São Paulo,
    Rio de Janeiro,Recife,Tokyo,Kyoto,Osaka,Seoul,Beijing,Shanghai,Hong Kong,Taipei,Bangkok,Hanoi,Singapore,
    Jakarta,Manila,Delhi,Mumbai,Bangalore,Sydney,Melbourne,Auckland,Wellington,Reykjavik,Porto,Lyon,
    Marseille,Bordeaux,
    Norway,Sweden,Denmark,Finland,Iceland,Ireland,Scotland,England,Wales,Germany,Austria,Switzerland,France,
    Belgium,Netherlands,Spain,Portugal,Italy,Greece,Poland,Czechia,Slovakia,Hungary,Romania,Bulgaria,Croatia,
    Serbia,Slovenia,Ukraine,Russia,Turkey,Egypt,Morocco,Tunisia,Ghana,Nigeria,Kenya,Ethiopia,Senegal,
    South Africa,Canada,Mexico,Cuba,Colombia,Peru,Ecuador,Chile,Argentina,Uruguay,Brazil,Japan,China,Korea,
    Taiwan,Thailand,Vietnam,India,Pakistan,Indonesia,Philippines,Australia,New Zealand,Israel,Iran,Europe,
    Africa,Asia,Alps,Tuscany,Andalusia,Provence,Brittany,Bavaria,Sicily,Scandinavia,Patagonia,
    Wien,München,Köln,Zürich,Genf,Rom,Mailand,Venedig,Lissabon,Kopenhagen,Deutschland,Österreich,Schweiz,
    Italien,Frankreich,Spanien,Schweden,Norwegen,Dänemark,Japan,Alpen,Ostsee,Nordsee,Bodensee,
    Londres,Lisbonne,Rome,Venise,Allemagne,Espagne,Italie,Japon,Bretagne,Alpes,Paris,Grèce,
    Lisboa,Sevilla,Roma,Berlín,París,España,Francia,Alemania,Italia,Japón,Grecia,Brasil,
    Londra,Parigi,Milano,Napoli,Torino,Venezia,Firenze,Sicilia,Toscana,Spagna,Germania,Giappone,
    Espanha,França,Alemanha,Itália,Japão,Londres
    """.casefold(),
    ",",
)


def classify_name(name: str, otherwise: EntityType = "concept") -> EntityType:
    """Return the entity type of a well-known name, else `otherwise`."""
    if name in TOOLS:
        return "tool"
    if name[:1].isupper() and name.casefold() in _PLACES:
        return "place"
    return otherwise
