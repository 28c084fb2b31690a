package main

import (
	_ "embed"
	"path/filepath"
	"strings"
)

//go:embed bossman.js
var launcher []byte

// An npmPackage is a package.json.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	Repository   repository        `json:"repository"`
	MCPName      string            `json:"mcpName,omitzero"`
	Bin          map[string]string `json:"bin,omitzero"`
	OS           []string          `json:"os,omitzero"`
	CPU          []string          `json:"cpu,omitzero"`
	Engines      map[string]string `json:"engines,omitzero"`
	Dependencies map[string]string `json:"optionalDependencies,omitzero"`
	Unplugged    bool              `json:"preferUnplugged,omitzero"`
}

func (r *release) npmPackage(name string) npmPackage {
	return npmPackage{
		Name: name, Version: r.version, Description: summary, License: license, Homepage: homepage,
		Repository: repository{"git", "git+" + homepage + ".git"},
	}
}

// node is a target by the names that Node.js has for systems and processors.
func (t target) node() target {
	if t.os == "windows" {
		t.os = "win32"
	}
	if t.arch == "amd64" {
		t.arch = "x64"
	}
	return t
}

// npmPlatform is the package with the program for a target.
func npmPlatform(t target) string { return npmName + "-" + t.node().os + "-" + t.node().arch }

// writeNPM writes the package that people install. Those with the programs are its optional dependencies: npm installs the
// one whose "os" and "cpu" match, so no script has to run and nothing is downloaded from elsewhere.
func (r *release) writeNPM(list []target) error {
	p := r.npmPackage(npmName)
	p.MCPName = serverName
	p.Bin = map[string]string{"bossman": "bin/bossman.js"}
	p.Engines = map[string]string{"node": ">=18"}
	p.Dependencies = map[string]string{}
	for _, t := range list {
		p.Dependencies[npmPlatform(t)] = r.version
	}
	return r.writeNPMPackage(p, file{"bin/bossman.js", launcher, 0o755})
}

// writeNPMPlatform writes the package with the program for a target.
func (r *release) writeNPMPlatform(t target, program file) error {
	p := r.npmPackage(npmPlatform(t))
	p.OS, p.CPU = []string{t.node().os}, []string{t.node().arch}
	p.Unplugged = true // an archive's file cannot be run
	program.name = "bin/" + t.program()
	return r.writeNPMPackage(p, program)
}

func (r *release) writeNPMPackage(p npmPackage, program file) error {
	text, err := marshal(p)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-") + "-" + r.version + ".tgz" // as npm pack names it
	return r.writeTar(filepath.Join(r.out, name), "package", []file{{"package.json", text, 0o644}, program, {"README.md", []byte(packageReadme), 0o644}, r.license()})
}
