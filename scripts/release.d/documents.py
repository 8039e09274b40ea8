"""The documents of a release: the bill of materials of a package (SPDX 2.3), and the provenance of all files (in-toto, SLSA 1.0)."""
import datetime, hashlib, json, os, pathlib, re, subprocess, sys, urllib.parse

AUTHORS = "Organization: The Balloon authors"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def time():
    """The time of the documents: SOURCE_DATE_EPOCH if it is set, so that a repeated build writes the same bytes."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC) if seconds else datetime.datetime.now(datetime.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def pins():
    """The Swift packages of the manifest, as SwiftPM resolved them."""
    return [(pin["identity"], pin["location"], pin["state"]["version"], pin["state"]["revision"]) for pin in json.loads(pathlib.Path("Package.resolved").read_text())["pins"]]


def licence(identity):
    """The licence of a Swift package by the first lines of its file."""
    for file in pathlib.Path(".build/checkouts", identity).glob("LICENSE*"):
        if re.search(r"Apache License\s+Version 2\.0", file.read_text()):
            return "Apache-2.0"
    return "NOASSERTION"


def part(name, version, purl, **more):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}], **more}


def sbom(version, package):
    """Writes the bill of materials beside the package: what is linked into the program, and the Debian packages that it needs."""
    architecture = output("dpkg-deb", "--field", package, "Architecture")
    product = part("balloon", version, f"pkg:deb/balloon@{version}?arch={architecture}", supplier=AUTHORS, licenseConcluded="MIT", licenseDeclared="MIT",
                   packageFileName=pathlib.Path(package).name, checksums=[{"algorithm": "SHA256", "checksumValue": sha256(package)}])
    linked = [part(identity, number, f"pkg:swift/{location.split('://')[-1].removesuffix('.git')}@{number}", downloadLocation=f"git+{location}@{revision}", licenseDeclared=licence(identity))
              for identity, location, number, revision in pins()]
    swift = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    # With --static-swift-stdlib the standard library, Dispatch and FoundationEssentials are in the program.
    linked.append(part("swift-runtime", swift, f"pkg:github/swiftlang/swift@swift-{swift}-RELEASE", licenseDeclared="Apache-2.0 WITH Swift-exception"))
    names = [re.split(r"[ (|]", one.strip())[0] for one in output("dpkg-deb", "--field", package, "Depends").split(",")]
    needed = []
    for name in names:
        # A package that this machine lacks is needed all the same; its version is that of the installation.
        found = subprocess.run(["dpkg-query", "--show", "--showformat", "${Version}", name], capture_output=True, text=True).stdout
        place = f"{name}@{urllib.parse.quote(found)}" if found else name
        needed.append(part(name, found or "NOASSERTION", f"pkg:deb/debian/{place}?arch={architecture}&distro=bookworm", supplier="Organization: Debian"))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", product)] + [(product["SPDXID"], "CONTAINS", one) for one in linked] + [(product["SPDXID"], "DEPENDS_ON", one) for one in needed]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"balloon-{version}-{architecture}",
        "documentNamespace": f"https://spdx.org/spdxdocs/balloon-{version}-{architecture}-{sha256(package)[:32]}",
        "creationInfo": {"created": time(), "creators": [AUTHORS, "Tool: scripts-release"]}, "packages": [product, *linked, *needed],
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]} for one, kind, other in relations],
    }
    path = pathlib.Path(package).with_suffix(".spdx.json")
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(path)


def linked(files):
    """The sources of the Swift packages in the bills of materials among the files."""
    found = set()
    for file in files:
        if file.name.endswith(".spdx.json"):
            for one in json.loads(file.read_text())["packages"]:
                if one["downloadLocation"].startswith("git+"):
                    location, _, revision = one["downloadLocation"].rpartition("@")
                    found.add((location, one["versionInfo"], revision))
    return sorted(found)


def provenance(tag, folder):
    """Writes provenance.intoto.json: by whom, from which source and with which packages the files were built. The forge signs it."""
    server, repository = os.environ.get("GITHUB_SERVER_URL", ""), os.environ.get("GITHUB_REPOSITORY", "")
    is_hosted = bool(server and repository)
    source = f"git+{server}/{repository}" if is_hosted else pathlib.Path.cwd().as_uri()
    commit = output("scripts/commit").split()
    files = sorted(one for one in pathlib.Path(folder).iterdir() if one.is_file() and one.name not in ("SHA256SUMS", "notes.md", "provenance.intoto.json"))
    if not files:
        sys.exit(f"release: {folder} has no files; run scripts/release build {tag} {folder}")
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": one.name, "digest": {"sha256": sha256(one)}} for one in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1" if is_hosted else "urn:balloon:scripts:release",
                "externalParameters": {"workflow": {"ref": f"refs/tags/{tag}", "repository": source.removeprefix("git+"), "path": ".github/workflows/release.yml"}},
                "resolvedDependencies": [{"uri": f"{source}@refs/tags/{tag}", **({"digest": {"gitCommit": commit[0]}} if commit else {})}]
                + [{"uri": f"{location}@{number}", "digest": {"gitCommit": revision}} for location, number, revision in linked(files)],
            },
            "runDetails": {
                "builder": {"id": f"{server}/{os.environ.get('GITHUB_WORKFLOW_REF', repository)}" if is_hosted else "urn:balloon:local"},
                "metadata": {"finishedOn": time(), **({"invocationId": f"{server}/{repository}/actions/runs/{os.environ.get('GITHUB_RUN_ID')}"} if is_hosted else {})},
            },
        },
    }
    path = pathlib.Path(folder, "provenance.intoto.json")
    path.write_text(json.dumps(statement, indent=2) + "\n")
    print(path)


{"sbom": sbom, "provenance": provenance}[sys.argv[1]](*sys.argv[2:])
