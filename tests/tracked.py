"""The files of the tree that tests look at."""

import os
import subprocess


def files(root):
    """Paths under root, relative to it: what git tracks or would add; without git, all but .git and build."""
    git = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"]
    # A tree that is only a folder inside some other repository must not be listed by that one.
    if os.path.exists(os.path.join(root, ".git")):
        try:
            listed = subprocess.run(git, capture_output=True, check=True).stdout.decode().split("\0")
            return sorted(name for name in listed if name and os.path.isfile(os.path.join(root, name)))
        except (OSError, subprocess.CalledProcessError):
            pass
    found = []
    for folder, folders, names in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if name not in (".git", "build")]
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)
