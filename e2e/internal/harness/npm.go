package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Packages is a folder with a package.json whose packages are installed.
type Packages struct {
	Dir string
}

// Install makes the node_modules of dir what its lock file says and does
// nothing when it is so already. Two processes may install at the same time: a
// lock in the folder lets one wait for the other.
func Install(ctx context.Context, dir string) (Packages, error) {
	p := Packages{Dir: dir}
	if err := p.install(ctx); err != nil {
		return p, fmt.Errorf("npm install in %s: %w", dir, err)
	}
	return p, nil
}

// Installed reports whether the node_modules of dir is what its lock file says.
func Installed(dir string) bool {
	p := Packages{Dir: dir}
	want, err := p.stamp()
	if err != nil {
		return false
	}
	got, err := os.ReadFile(p.stampFile())
	return err == nil && string(got) == want
}

// stamp is the sum of the lock file. It is kept in stampFile once its packages are installed.
func (p Packages) stamp() (string, error) {
	lock, err := os.ReadFile(filepath.Join(p.Dir, "package-lock.json"))
	sum := sha256.Sum256(lock)
	return hex.EncodeToString(sum[:]), err
}

func (p Packages) stampFile() string {
	return filepath.Join(p.Dir, "node_modules", ".bossman-lock-sha256")
}

func (p Packages) install(ctx context.Context) error {
	want, err := p.stamp()
	if err != nil {
		return err
	}
	// The lock is on the folder itself, so nothing is left behind.
	d, err := os.Open(p.Dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}

	if Installed(p.Dir) {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(p.Dir, "node_modules")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	// Not npm ci: it refuses a lock file without the optional packages of other
	// platforms, and not every mirror of the registry has those to write down.
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = p.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, Tail(string(out), 40))
	}
	return os.WriteFile(p.stampFile(), []byte(want), 0o644)
}

// Bin is the path of a program that a package brought.
func (p Packages) Bin(name string) string {
	return filepath.Join(p.Dir, "node_modules", ".bin", name)
}

// Version is the version that package.json pins for a package.
func (p Packages) Version(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatalf("package.json: %v", err)
	}
	v, ok := file.Dependencies[name]
	if !ok {
		t.Fatalf("package.json of %s does not name %s", p.Dir, name)
	}
	return v
}
