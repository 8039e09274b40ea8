#!/usr/bin/env python3
"""Prepares a container for crun: adds the settings of a Compose service to a bundle of `umoci unpack`.

Usage: bundle.py BUNDLE COMPOSE-FILE SERVICE VOLUMES [NETWORK]
The bundle already has the image's entry point, command, environment and user. VOLUMES is the folder for named volumes. NETWORK is a
network namespace to join: the services then reach each other on the loopback address, under the names that a container engine gives them.
"""
import json
import subprocess
import sys
from pathlib import Path

import yaml

# An engine uses these keys before it starts a container, or to publish and restart it.
OUTSIDE = {"build", "image", "ports", "restart", "stop_grace_period"}
INSIDE = {"cap_drop", "command", "environment", "read_only", "secrets", "security_opt", "tmpfs", "user", "volumes"}


def existing(path: Path) -> Path:
    if not path.exists():
        sys.exit(f"bundle: {path} does not exist")
    return path


def bind(source: Path, target: str, read_only: bool) -> dict:
    return {
        "destination": target, "type": "bind", "source": str(source.resolve()),
        "options": ["rbind", "nosuid", "nodev", "ro" if read_only else "rw"]}


def named_volume(bundle: Path, volumes: Path, name: str, target: str) -> Path:
    """A new named volume gets the files, the owner and the mode that the image has at its place."""
    folder = volumes / name
    if not folder.exists():
        volumes.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", existing(bundle / "rootfs" / target.lstrip("/")), folder], check=True)
    return folder


def mounts(bundle: Path, file: Path, compose: dict, name: str, volumes: Path) -> list[dict]:
    service = compose["services"][name]
    result = [{"destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}
              for path in service.get("tmpfs", [])]
    for volume in service.get("volumes", []):
        source, target, *flags = volume.split(":")
        if source.startswith("."):
            folder = existing(file.parent / source)
        elif source in compose.get("volumes", {}):
            folder = named_volume(bundle, volumes, source, target)
        else:
            sys.exit(f"bundle: {name}: the volume {source} is not declared")
        result.append(bind(folder, target, "ro" in flags))
    for secret in service.get("secrets", []):
        result.append(bind(existing(file.parent / compose["secrets"][secret]["file"]), f"/run/secrets/{secret}", True))
    hosts = bundle / "hosts"
    hosts.write_text("127.0.0.1 localhost " + " ".join(compose["services"]) + "\n")
    return result + [bind(hosts, "/etc/hosts", True)]


def main(bundle: Path, file: Path, name: str, volumes: Path, network: str | None = None) -> None:
    compose = yaml.safe_load(file.read_text())
    service = compose["services"][name]
    if unknown := set(service) - OUTSIDE - INSIDE:
        sys.exit(f"bundle: {name}: this test does not understand {', '.join(sorted(unknown))}")
    if "build" in service:
        existing(file.parent / service["build"] / "Dockerfile")

    config = json.loads((bundle / "config.json").read_text())
    process = config["process"]
    process["terminal"] = False
    process["noNewPrivileges"] = "no-new-privileges:true" in service.get("security_opt", [])
    if service.get("cap_drop") == ["ALL"]:
        process["capabilities"] = {}
    if "command" in service:
        # Compose reads $$ as one dollar sign.
        process["args"] = [argument.replace("$$", "$") for argument in service["command"]]
    if "user" in service:
        process["user"] = dict(zip(("uid", "gid"), map(int, service["user"].split(":"))))
    process["env"] += [f"{key}={value}" for key, value in service.get("environment", {}).items()]
    config["root"]["readonly"] = service.get("read_only", False)

    added = mounts(bundle, file, compose, name, volumes)
    replaced = {mount["destination"] for mount in added}
    # Without a manager of control groups there is no folder of them to mount, and no limit to set.
    config["mounts"] = [mount for mount in config["mounts"]
                        if mount["type"] != "cgroup" and mount["destination"] not in replaced] + added
    config["linux"].pop("resources", None)
    if network:
        for namespace in config["linux"]["namespaces"]:
            if namespace["type"] == "network":
                namespace["path"] = network
    (bundle / "config.json").write_text(json.dumps(config, indent=4))


if not 5 <= len(sys.argv) <= 6:
    sys.exit(__doc__)
main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), *sys.argv[5:])
