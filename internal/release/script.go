package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed install.sh.tmpl
var installScript string

//go:embed bossman.rb.tmpl
var formula string

// archives is what a script is written from.
type archives struct {
	Summary, Homepage, License, Version string
	// URL is where the files of the release are.
	URL string
	// Sums has the checksums of the archives, by their names.
	Sums map[string]string
}

// Sum is the checksum of the archive for a system.
func (a archives) Sum(os, arch string) (string, error) {
	sum, ok := a.Sums[fmt.Sprintf("bossman_%s_%s_%s.tar.gz", a.Version, os, arch)]
	if !ok {
		return "", fmt.Errorf("no archive for %s/%s", os, arch)
	}
	return sum, nil
}

// writeScript writes a script that downloads an archive and knows its checksum.
func (r *release) writeScript(name, text string, sums map[string]string, mode os.FileMode) error {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, archives{summary, homepage, license, r.version, homepage + "/releases/download/v" + r.version, sums}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), mode)
}
