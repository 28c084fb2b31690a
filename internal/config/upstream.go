package config

import (
	"errors"
	"fmt"
)

// setUpstreams takes the sections [upstream.NAME]. Those of a project's file are ignored: a cloned
// repository must not run programs.
func (s *Settings) setUpstreams(path string, v any, inProject bool) error {
	if inProject {
		s.ignoreUpstreams(fmt.Sprintf("[upstream] in %q: a project's file may not set it, your own may", path))
		return nil
	}
	if worldWritable(path) {
		s.ignoreUpstreams(fmt.Sprintf("[upstream] in %s: the file is world-writable, so no command in it is run; fix it with: chmod o-w %s", path, path))
		return nil
	}
	table, ok := v.(map[string]any)
	if !ok {
		return errors.New("want sections such as [upstream.github]")
	}
	s.Upstreams = table
	return nil
}

func (s *Settings) ignoreUpstreams(why string) {
	s.Ignored, s.UpstreamsIgnored = append(s.Ignored, why), why
}
