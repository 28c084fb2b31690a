package git

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Remote returns the name of the remote repository that this one is a clone of, as
// RemoteName has it; empty if there is none. It is the remote named origin, else the first
// one. It reads the configuration file only, and no file that this includes.
func (r *Repo) Remote() string {
	first := ""
	for key, value := range r.settings("config") {
		if !strings.HasPrefix(key, "remote.") || !strings.HasSuffix(key, ".url") {
			continue
		}
		if name := RemoteName(value, r.Common); key == "remote.origin.url" {
			return name
		} else if first == "" {
			first = name
		}
	}
	return first
}

// RemoteAt is Remote for the remote of a name.
func (r *Repo) RemoteAt(remote string) string {
	for key, value := range r.settings("config") {
		if key == "remote."+remote+".url" {
			return RemoteName(value, r.Common)
		}
	}
	return ""
}

// RemoteName returns what the URLs of one remote repository have in common: the host and
// the path, such as github.com/acme/web. It has no scheme, credentials, port or .git. A
// path on this machine is relative to base, and its name begins with a slash.
func RemoteName(remote, base string) string {
	host, path := "", ""
	u, err := url.Parse(remote)
	switch {
	case err == nil && u.Scheme == "file":
		path = u.Path
	case err == nil && u.Host != "":
		host, path = u.Hostname(), u.Path
	case strings.Contains(remote, "://"):
		return "" // it cannot be read, and may have a password in it
	default:
		rest := remote // git@host:path
		if at := strings.IndexByte(remote, '@'); at >= 0 && !strings.Contains(remote[:at], "/") {
			rest = remote[at+1:]
		}
		before, after, ok := strings.Cut(rest, ":")
		if !ok || strings.Contains(before, "/") || len(before) < 2 {
			if path = remote; path != "" && !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(base), path)
			}
			break
		}
		host, path = before, after
	}
	path = strings.TrimSuffix(strings.TrimRight(filepath.ToSlash(path), "/"), ".git")
	path = strings.TrimRight(path, "/")
	if host == "" {
		return path
	}
	return strings.ToLower(host) + "/" + strings.TrimLeft(path, "/")
}
