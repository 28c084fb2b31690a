package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// wheelTags are the platform tags of wheels. The Linux programs are static, so they run with every C library; the macOS
// version is the oldest that Go supports.
var wheelTags = map[target]string{
	{"linux", "amd64"}:   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}:  "macosx_12_0_x86_64",
	{"darwin", "arm64"}:  "macosx_12_0_arm64",
	{"windows", "amd64"}: "win_amd64",
	{"windows", "arm64"}: "win_arm64",
}

// writeWheel writes a Python package whose only content is the program, as a script: installers copy it to where
// commands are.
func (r *release) writeWheel(t target, program file) error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	tags, name := wheelTags[t], pypiName+"-"+version
	metadata := fmt.Sprintf(`Metadata-Version: 2.1
Name: %s
Version: %s
Summary: %s
Home-page: %s
License: %s
Project-URL: Source, %[4]s
Requires-Python: >=3.8
Description-Content-Type: text/markdown

%[6]s`, pypiName, version, summary, homepage, license, packageReadme)
	wheel := "Wheel-Version: 1.0\nGenerator: bossman\nRoot-Is-Purelib: false\n"
	for tag := range strings.SplitSeq(tags, ".") {
		wheel += "Tag: py3-none-" + tag + "\n"
	}
	program.name = name + ".data/scripts/" + t.program()
	info := name + ".dist-info/"
	files := []file{program, {info + "LICENSE", r.licenseText, 0o644}, {info + "METADATA", []byte(metadata), 0o644}, {info + "WHEEL", []byte(wheel), 0o644}}
	files = append(files, file{info + "RECORD", wheelRecord(info+"RECORD", files), 0o644})
	return r.writeZip(filepath.Join(r.out, name+"-py3-none-"+tags+".whl"), "", files)
}

// wheelRecord lists the files with checksums; itself without one.
func wheelRecord(name string, files []file) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.text)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.text))
	}
	b.WriteString(name + ",,\n")
	return []byte(b.String())
}

var prerelease = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.(\d+))?$`)

// pythonVersion writes a semantic version as Python does: 1.2.0-rc.1 is 1.2.0rc1.
func pythonVersion(version string) (string, error) {
	m := prerelease.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %s: want one such as 1.2.0 or 1.2.0-rc.1 (or alpha, beta)", version)
	}
	kind := map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[2]]
	return m[1] + kind + m[3], nil
}
