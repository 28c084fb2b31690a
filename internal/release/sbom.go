package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An SBOM is a bill of materials, in the format CycloneDX 1.6.
type sbom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitzero"`
	Hashes     []hash     `json:"hashes,omitzero"`
	Properties []property `json:"properties,omitzero"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// writeSBOM writes what is linked into a program, as the program itself says.
func (r *release) writeSBOM(program, path string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	out, err := json.Marshal(r.bill(info, hex.EncodeToString(sum[:])), jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(out, '\n'), 0o644)
}

// bill is the SBOM of a program with a checksum.
func (r *release) bill(info *debug.BuildInfo, sum string) *sbom {
	main := component{
		Type: "application", Ref: purl(info.Main.Path, r.version), Name: "bossman", Version: r.version, PURL: purl(info.Main.Path, r.version),
		Hashes: []hash{{"SHA-256", sum}},
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			main.Properties = append(main.Properties, property{"bossman:build:" + s.Key, s.Value})
		}
	}
	if r.revision != "" {
		main.Properties = append(main.Properties, property{"bossman:build:revision", r.revision})
	}
	b := &sbom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{r.time.Format("2006-01-02T15:04:05Z"), main}}
	on := []string{}
	std := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, component{Type: "library", Ref: purl("stdlib", std), Name: "stdlib", Version: std, PURL: purl("stdlib", std)})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok { // of the list of its files
			if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
				c.Properties = []property{{"bossman:module:h1", hex.EncodeToString(raw)}}
			}
		}
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, c := range b.Components {
		on = append(on, c.Ref)
	}
	b.Dependencies = []dependency{{main.Ref, on}}
	return b
}

// purl is the package URL of a module.
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
