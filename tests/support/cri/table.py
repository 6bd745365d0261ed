"""All rows: whoever imports this has the whole table in cri.specs.SPECS."""
from cri import containers, edges, images, pods, security, streams  # noqa: F401 (each adds its rows)
from cri.specs import SPECS, run  # noqa: F401
