"""What an installed stableopt has to do in an environment of its own, far from its sources."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import stableopt as so


def parabola(point):
    return -((point["x"] - 0.3) ** 2)


def main():
    home = Path(so.__file__).parent
    assert so.__version__ == version("stableopt"), (so.__version__, version("stableopt"))
    assert (home / "py.typed").exists(), "types are not shipped"
    assert "site-packages" in home.parts, f"the sources are imported, not what was installed: {home}"
    assert "matplotlib" not in sys.modules and "typer" not in sys.modules, "the core is NumPy and SciPy only"

    result = so.maximize(parabola, {"x": (0, 1)}, tolerance={"x": 0.1}, evaluations=10, seed=0)
    assert abs(result.decision["x"] - 0.3) < 0.05, result.decision
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.db"
        campaign = so.Campaign({"x": (0, 1)}, {"x": 0.1}, file=file)
        trial = campaign.ask()
        campaign.tell(trial, parabola(trial.point))
        campaign.close()
        assert so.Campaign.open(file).counts["done"] == 1
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 11), so.Ball(0.1), so.GP(so.SE(0.2), noise=0.1))
    optimizer.tell(optimizer.ask(), 1.0)
    assert json.loads(optimizer.to_json())["rounds"]
    print(f"stableopt {so.__version__} works as installed")


if __name__ == "__main__":
    main()
