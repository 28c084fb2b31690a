package main

import (
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A bundle is the manifest of an MCPB bundle: a server that desktop clients install with one click.
type bundle struct {
	ManifestVersion string       `json:"manifest_version"`
	Name            string       `json:"name"`
	DisplayName     string       `json:"display_name"`
	Version         string       `json:"version"`
	Description     string       `json:"description"`
	Author          named        `json:"author"`
	Repository      repository   `json:"repository"`
	Homepage        string       `json:"homepage"`
	Documentation   string       `json:"documentation"`
	Support         string       `json:"support"`
	License         string       `json:"license"`
	Server          bundleServer `json:"server"`
	ToolsGenerated  bool         `json:"tools_generated"`
	Compatibility   struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
	UserConfig map[string]userSetting `json:"user_config"`
}

type named struct {
	Name string `json:"name"`
	URL  string `json:"url,omitzero"`
}

type repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type bundleServer struct {
	Type       string `json:"type"`
	EntryPoint string `json:"entry_point"`
	Config     struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	} `json:"mcp_config"`
}

type userSetting struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// writeBundle writes a bundle for one system. A manifest can tell operating systems apart but not
// processors, so there is a bundle for each.
func (r *release) writeBundle(t target, program file) error {
	entry := "server/" + t.program()
	b := bundle{
		ManifestVersion: "0.3", Name: "bossman", DisplayName: "Bossman", Version: r.version, Description: summary,
		Author: named{"Bossman maintainers", homepage}, Repository: repository{"git", homepage + ".git"},
		Homepage: homepage, Documentation: homepage + "/tree/main/docs", Support: homepage + "/issues", License: license,
		Server: bundleServer{Type: "binary", EntryPoint: entry}, ToolsGenerated: true,
		// A desktop client does not start servers in a project.
		UserConfig: map[string]userSetting{"project": {"directory", "Project", "The directory of the project whose board is used", true}},
	}
	b.Server.Config.Command = "${__dirname}/" + entry
	b.Server.Config.Args = []string{"mcp", "--board", "${user_config.project}"}
	b.Compatibility.Platforms = []string{t.node().os}
	manifest, err := marshal(b)
	if err != nil {
		return err
	}
	program.name = entry
	return r.writeZip(filepath.Join(r.out, r.archive(t)+".mcpb"), "", []file{{"manifest.json", manifest, 0o644}, program, r.license()})
}

// marshal returns JSON for people, always in the same order.
func marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}
