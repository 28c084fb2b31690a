package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reaches reports whether a filter that reads a setting of the repository, such as git-lfs or
// git-annex, or a program that it calls, may run a program because of it, write elsewhere, or send
// a password elsewhere. git-lfs reads settings as lines, and in any letter case.
func reaches(key, value string) bool {
	text := strings.ToLower(key + "=" + value)
	if reachingKey(strings.ToLower(key)) {
		return true
	}
	for line := range strings.Lines(text) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), "="); ok && reachingKey(key) {
			return true
		}
	}
	return false
}

// reachingKey is reaches for a key in small letters.
func reachingKey(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch section {
	case "lfs":
		return !slices.Contains(lfsHarmless, name) || strings.HasPrefix(key, "lfs.extension.") || strings.HasPrefix(key, "lfs.customtransfer.")
	case "annex":
		return name != "uuid" && name != "version"
	case "remote":
		return strings.HasPrefix(name, "proxy") || strings.HasPrefix(name, "lfs") && !slices.Contains(remoteHarmless, name) || strings.HasPrefix(name, "annex-") && !slices.Contains(remoteHarmless, name)
	case "http", "https":
		return name != "extraheader"
	case "core":
		return name == "sshcommand" || name == "askpass" || name == "gitproxy"
	case "credential", "url", "ssh":
		return true
	}
	return false
}

// lfsHarmless are settings of git-lfs that run nothing and write nowhere; remoteHarmless are those
// of a remote.
var (
	lfsHarmless = []string{
		"access", "activitytimeout", "allowincompletepush", "basictransfersonly", "batch", "cachecredentials", "concurrenttransfers",
		"contenttype", "dialtimeout", "fetchexclude", "fetchinclude", "fetchrecentalways", "fetchrecentcommitsdays",
		"fetchrecentrefsdays", "fetchrecentremoterefs", "forceprogress", "gitprotocol", "keepalive", "lockignoredfiles", "locksverify",
		"pruneoffsetdays", "pruneremotetocheck", "pruneverifyremotealways", "pushurl", "repositoryformatversion",
		"setlockablereadonly", "skipdownloaderrors", "sshtransfer", "tlstimeout", "transfermaxretries", "url",
	}
	remoteHarmless = []string{"lfsurl", "lfspushurl", "lfsdefault", "lfspushdefault", "annex-uuid", "annex-ignore"}
)

// filterStores returns an error if git-lfs or git-annex would write through a symbolic link below
// the git directory. It makes the directories in which they write.
func (r *Repo) filterStores(f configured) error {
	for _, name := range []string{"lfs", "annex"} {
		if f.runs("filter."+name, stores) || f.runs("filter."+name, fills) {
			if err := os.Mkdir(filepath.Join(r.Common, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	for _, name := range []string{"lfs", "lfs/objects", "annex", "annex/objects"} {
		if err := straight(r.Common, name); err != nil {
			return err
		}
		entries, err := os.ReadDir(filepath.Join(r.Common, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				return straight(r.Common, name+"/"+e.Name())
			}
		}
	}
	return nil
}
