// Package release installs the files of a release as people do, with the programs that they use, and runs
// what was installed. `make release-check` runs it on dist/.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/mcp"
)

// dist is the directory with the files of the release.
var dist = os.Getenv("BOSSMAN_DIST")

func TestRelease(t *testing.T) {
	if dist == "" {
		t.Skip("set BOSSMAN_DIST, or run make release-check")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the packages of other systems are not tried")
	}
	t.Run("checksums", testChecksums)
	t.Run("deb", testDeb)
	t.Run("rpm", testRPM)
	t.Run("npm", testNPM)
	t.Run("pip", testPip)
	t.Run("bundle", testBundle)
	t.Run("script", testScript)
}

// one returns the only file of the release that matches a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files %s: %v, %v, want one", pattern, paths, err)
	}
	return paths[0]
}

// names of this machine's processor: Go's and Debian's, Fedora's and Python's, Node's.
var (
	goArch   = runtime.GOARCH
	unixArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goArch]
)

// run runs a program in a directory, and returns what it printed. It must be installed, and succeed.
func run(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("no %s here", argv[0])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, harness.Tail(string(out), 40))
	}
	return string(out)
}

// works fails the test unless the program has the version of the release, and serves a board over MCP.
func works(t *testing.T, argv ...string) {
	t.Helper()
	text, err := os.ReadFile(harness.Dir("..", "cmd", "bossman", "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := run(t, dir, append(argv, "version", "--json")...)
	var v struct{ Version string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Version != strings.TrimSpace(string(text)) {
		t.Errorf("version --json = %s, %v, want %s", out, err, text)
	}
	serves(t, append(argv, "mcp", "--board", dir)...)
}

// serves fails the test unless a command serves a board over MCP.
func serves(t *testing.T, argv ...string) {
	t.Helper()
	c, err := mcp.Start(t.Context(), argv...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Tool(t.Context(), "get_next_task"); err != nil {
		t.Errorf("%s serves no board: %v", strings.Join(argv, " "), err)
	}
}

// testChecksums checks that SHA256SUMS lists every file.
func testChecksums(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dist, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "SHA256SUMS" && !strings.Contains(string(sums), fmt.Sprintf("%x  %s\n", sha256.Sum256(text), e.Name())) {
			t.Errorf("SHA256SUMS has no line for %s as it is", e.Name())
		}
	}
}

// installed checks the files that a package for Linux put below root.
func installed(t *testing.T, root string, more ...string) {
	t.Helper()
	for _, name := range append([]string{
		"usr/share/man/man1/bossman.1.gz", "usr/share/man/man1/bossman-task-add.1.gz", "usr/share/bash-completion/completions/bossman",
		"usr/share/fish/vendor_completions.d/bossman.fish", "usr/share/doc/bossman/bossman.env.example", "etc/logrotate.d/bossman",
	}, more...) {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Size() == 0 {
			t.Errorf("the package did not install %s: %v", name, err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/bossman.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/bossman serve") {
		t.Errorf("the unit is %s, %v", unit, err)
	}
	works(t, filepath.Join(root, "usr/bin/bossman"))
}

func testDeb(t *testing.T) {
	deb := one(t, "bossman_*_"+goArch+".deb")
	info := run(t, t.TempDir(), "dpkg-deb", "--info", deb)
	if !strings.Contains(info, "Package: bossman") || strings.Contains(info, "postinst") || strings.Contains(info, "Depends:") {
		t.Errorf("the package says:\n%s", info)
	}
	root := t.TempDir()
	if os.Getuid() != 0 { // a database of packages belongs to root
		run(t, root, "dpkg-deb", "--extract", deb, root)
		installed(t, root, "usr/share/zsh/vendor-completions/_bossman", "usr/share/doc/bossman/copyright")
		return
	}
	for _, name := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, root, "dpkg", "--root", root, "--install", deb)
	installed(t, root, "usr/share/zsh/vendor-completions/_bossman", "usr/share/doc/bossman/copyright")
	run(t, root, "dpkg", "--root", root, "--purge", "bossman")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/bossman")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the package was removed, the program is there: %v", err)
	}
}

func testRPM(t *testing.T) {
	rpm := one(t, "bossman-*."+unixArch+".rpm")
	root := t.TempDir()
	if scripts := run(t, root, "rpm", "-qp", "--scripts", rpm); scripts != "" {
		t.Errorf("the package runs scripts:\n%s", scripts)
	}
	if os.Getuid() != 0 {
		t.Skip("only root installs packages")
	}
	run(t, root, "rpm", "--root", root, "--nodeps", "--install", rpm)
	installed(t, root, "usr/share/zsh/site-functions/_bossman", "usr/share/licenses/bossman/LICENSE")
}

// testNPM installs from a registry that has only our packages; npm takes the one for this system.
func testNPM(t *testing.T) {
	registry := newRegistry(t)
	dir := t.TempDir()
	run(t, dir, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--cache", t.TempDir(), "--registry", registry.URL, "@bossman-dev/bossman")
	works(t, filepath.Join(dir, "node_modules", ".bin", "bossman"))
	packages, err := os.ReadDir(filepath.Join(dir, "node_modules", "@bossman-dev"))
	if err != nil || len(packages) != 2 {
		t.Errorf("npm installed %v, %v, want two packages", packages, err)
	}
}

// newRegistry serves the npm packages of the release.
func newRegistry(t *testing.T) *httptest.Server {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dist, "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	documents := make(map[string]any)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("GET /tarballs/", http.StripPrefix("/tarballs", http.FileServer(http.Dir(dist))))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, req *http.Request) {
		name, err := url.PathUnescape(strings.TrimPrefix(req.URL.Path, "/"))
		if documents[name] == nil || err != nil {
			http.NotFound(w, req)
			return
		}
		_ = json.NewEncoder(w).Encode(documents[name])
	})
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p := manifest(t, text)
		p["dist"] = map[string]any{"tarball": server.URL + "/tarballs/" + filepath.Base(path), "shasum": fmt.Sprintf("%x", sha1.Sum(text))}
		version := p["version"].(string)
		documents[p["name"].(string)] = map[string]any{
			"name": p["name"], "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: p},
		}
	}
	return server
}

// manifest returns the package.json of an npm package.
func manifest(t *testing.T, text []byte) map[string]any {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != "package/package.json" {
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		var p map[string]any
		if err := json.Unmarshal(content, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func testPip(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "python3", "-m", "venv", filepath.Join(dir, "venv"))
	run(t, dir, filepath.Join(dir, "venv", "bin", "pip"), "install", "--no-index", "--find-links", dist, "bossman")
	works(t, filepath.Join(dir, "venv", "bin", "bossman"))
	run(t, dir, filepath.Join(dir, "venv", "bin", "pip"), "uninstall", "--yes", "bossman")
}

// testBundle checks a bundle with the format's own program, and starts the server as its manifest says.
func testBundle(t *testing.T) {
	packages, err := harness.Install(t.Context(), harness.Dir("release"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, path := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
		paths, err := filepath.Glob(filepath.Join(dist, "bossman_*_"+path+".mcpb"))
		if err != nil {
			t.Fatal(err)
		}
		if len(paths) == 0 { // a release with -only
			continue
		}
		to := filepath.Join(dir, path)
		run(t, dir, packages.Bin("mcpb"), "unpack", one(t, "bossman_*_"+path+".mcpb"), to)
		run(t, dir, packages.Bin("mcpb"), "validate", filepath.Join(to, "manifest.json"))
	}
	here := filepath.Join(dir, "linux_"+goArch)
	text, err := os.ReadFile(filepath.Join(here, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Server struct {
			Config struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	replace := strings.NewReplacer("${__dirname}", here, "${user_config.project}", dir)
	argv := []string{replace.Replace(m.Server.Config.Command)}
	for _, arg := range m.Server.Config.Args {
		argv = append(argv, replace.Replace(arg))
	}
	serves(t, argv...)
}

func testScript(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	defer server.Close()
	home := t.TempDir()
	out := run(t, home, "env", "BOSSMAN_URL="+server.URL, "sh", filepath.Join(dist, "install.sh"))
	if !strings.Contains(out, "is installed") {
		t.Errorf("the script printed:\n%s", out)
	}
	works(t, filepath.Join(home, ".local", "bin", "bossman"))
	if _, err := os.Stat(filepath.Join(home, ".local", "share", "man", "man1", "bossman.1")); err != nil {
		t.Error(err)
	}
}
