package git

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxIncludes bounds how deep configuration files include each other, as git does.
	maxIncludes = 10
	// maxConfigs bounds how many files they name in all.
	maxConfigs = 1000
)

// readings lists the files that git reads because a configuration file of the repository names them:
// further configuration files, attributes, and patterns to ignore. It takes every condition of an
// include for fulfilled.
func (r *Repo) readings() (list []string) {
	for _, file := range r.configs() {
		list = r.addReadings(list, file, 0)
	}
	return list
}

// configs are the configuration files of the repository.
func (r *Repo) configs() []string {
	return []string{filepath.Join(r.Common, "config"), filepath.Join(r.Common, "config.worktree"), filepath.Join(r.Dir, "config.worktree")}
}

func (r *Repo) addReadings(list []string, file string, depth int) []string {
	for key, value := range configFile(file) {
		path := home(value)
		switch {
		case len(list) == maxConfigs:
			return list
		case includes(key) && depth < maxIncludes:
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			list = r.addReadings(append(list, path), path, depth+1)
		case key == "core.attributesfile" || key == "core.excludesfile":
			list = append(list, resolve(r.Root, path))
		}
	}
	return list
}

// includes reports whether a setting names a further configuration file.
func includes(key string) bool {
	return key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
}

// userConfigs are the configuration files of the user and of the system.
func userConfigs() []string {
	files := []string{"/etc/gitconfig", home("~/.gitconfig")}
	if dir := userDir(); dir != "" {
		files = append(files, filepath.Join(dir, "config"))
	}
	return files
}

// places returns the tops of the worktrees of the repository, whether they are there or not, and its
// git directories. For a submodule, those of the repositories that it lies in are among them.
func (r *Repo) places() (trees, own []string) {
	if !r.Bare {
		trees = append(trees, r.Root)
	}
	for dir := r.Common; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if isCommon(dir) {
			at := &Repo{Dir: dir, Common: dir}
			own, trees = append(own, dir), append(trees, at.linked()...)
			if tree, ok := at.workTree(); ok {
				trees = append(trees, resolve(dir, tree))
			} else if !at.isBare() {
				trees = append(trees, filepath.Dir(dir))
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return trees, own
}

// maxSteps bounds the parts of a path and of the symbolic links on its way.
const maxSteps = 1000

// passes reports whether a part of a path, or of a symbolic link on its way, is a file or a
// directory in one of the trees, and not in one of the directories own. It need not be there.
func passes(path string, trees, own []string) bool {
	seen := sights{} // the same directories are asked about for each part
	volume := filepath.VolumeName(path)
	at, rest := volume+string(filepath.Separator), path[len(volume):]
	for range maxSteps {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(filepath.ToSlash(rest), "/"), "/")
		switch name {
		case "":
			return false
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if seen.within(next, trees, own) {
			return true
		}
		target, err := os.Readlink(next)
		switch {
		case err != nil:
			at = next
		case filepath.IsAbs(target):
			volume := filepath.VolumeName(target)
			at, rest = volume+string(filepath.Separator), target[len(volume):]+"/"+rest
		default:
			rest = target + "/" + rest
		}
	}
	return true
}

// sights are files as they were when they were first looked at, nil where there is none.
type sights map[string]fs.FileInfo

func (s sights) at(path string) fs.FileInfo {
	info, ok := s[path]
	if !ok {
		info, _ = os.Stat(path)
		s[path] = info
	}
	return info
}

// within reports whether a path is below one of the trees, and not in one of the directories own.
func (s sights) within(path string, trees, own []string) bool {
	is := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			if dir == path {
				return true
			}
			a, b := s.at(dir), s.at(path)
			return a != nil && b != nil && os.SameFile(a, b)
		})
	}
	for {
		if is(own) {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		if path = up; is(trees) && !is(own) {
			return true
		}
	}
}

// home returns a path whose beginning may be a tilde, alone or with the name of a user.
func home(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	name, ok := strings.CutPrefix(first, "~")
	if !ok {
		return path
	}
	if name == "" {
		if dir, err := os.UserHomeDir(); err == nil {
			return dir + "/" + rest
		}
	} else if u, err := user.Lookup(name); err == nil {
		return u.HomeDir + "/" + rest
	}
	return path
}
