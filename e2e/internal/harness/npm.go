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

func (p Packages) install(ctx context.Context) error {
	lock, err := os.ReadFile(filepath.Join(p.Dir, "package-lock.json"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])

	modules := filepath.Join(p.Dir, "node_modules")
	// The lock is on the folder itself, so nothing is left behind.
	d, err := os.Open(p.Dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}

	stamp := filepath.Join(modules, ".bossman-lock-sha256")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == want {
		return nil
	}
	if err := os.RemoveAll(modules); err != nil {
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
	return os.WriteFile(stamp, []byte(want), 0o644)
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
