package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/config"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// TestDeploy compares the files in deploy with the program: flags, variables, paths
// and ports that they name exist.
func TestDeploy(t *testing.T) {
	t.Parallel()
	t.Run("kubernetes", testManifests)
	t.Run("systemd", testUnit)
	t.Run("docker", testDockerfile)
}

var deploy = filepath.Join("..", "..", "deploy")

// A manifest is as much of a Kubernetes object as we have something to say about.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace string
	}
	Data, StringData map[string]string
	Spec             struct {
		Replicas int
		Template struct {
			Spec pod
		}
	}
}

type pod struct {
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	Containers         []container
}

type container struct {
	Name, Image string
	Args        []string
	Ports       []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	EnvFrom []struct {
		ConfigMapRef, SecretRef struct{ Name string }
	} `yaml:"envFrom"`
	LivenessProbe, ReadinessProbe, StartupProbe probe
	SecurityContext                             struct {
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func testManifests(t *testing.T) {
	all := manifests(t)
	find := func(kind, name string) *manifest {
		for _, m := range all {
			if m.Kind == kind && m.Metadata.Name == name {
				return m
			}
		}
		t.Errorf("there is no %s %s", kind, name)
		return &manifest{}
	}
	config := find("ConfigMap", "bossman").Data
	knownVariables(t, "ConfigMap", config)
	server := find("Deployment", "bossman")
	if server.Spec.Replicas < 2 {
		t.Errorf("%d replicas: one could not be replaced", server.Spec.Replicas)
	}
	for _, m := range []*manifest{server, find("Job", "bossman-migrate")} {
		p := m.Spec.Template.Spec
		if !p.SecurityContext.RunAsNonRoot || p.EnableServiceLinks == nil || *p.EnableServiceLinks {
			t.Errorf("%s: it may run as root, or gets variables that we did not write", m.Kind)
		}
		if len(p.Containers) != 1 {
			t.Fatalf("%s has %d containers", m.Kind, len(p.Containers))
		}
		c := p.Containers[0]
		understood(t, m.Kind, c.Args)
		s := c.SecurityContext
		if !s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: its container may more than it needs", m.Kind)
		}
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef.Name != "" {
				find("ConfigMap", from.ConfigMapRef.Name)
			}
			if from.SecretRef.Name != "" {
				knownVariables(t, "Secret", find("Secret", from.SecretRef.Name).StringData)
			}
		}
	}
	c := server.Spec.Template.Spec.Containers[0]
	for _, port := range c.Ports {
		if want := map[string]string{"http": config["BOSSMAN_HTTP"], "admin": config["BOSSMAN_ADMIN"]}[port.Name]; want != fmt.Sprintf(":%d", port.ContainerPort) {
			t.Errorf("port %s is %d, and the program listens on %q", port.Name, port.ContainerPort, want)
		}
	}
	for path, p := range map[string]probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if p.HTTPGet.Path != path || p.HTTPGet.Port != "http" {
			t.Errorf("a probe asks %s at %s, want %s at http", p.HTTPGet.Path, p.HTTPGet.Port, path)
		}
	}
	enough(t, "terminationGracePeriodSeconds", config["BOSSMAN_LINGER"], server.Spec.Template.Spec.TerminationGracePeriodSeconds)
}

// manifests reads the folder. Keys that stand twice are errors.
func manifests(t *testing.T) []*manifest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(deploy, "kubernetes", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	var all []*manifest
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var node yaml.Node
			if err := d.Decode(&node); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			m := &manifest{}
			var whole map[string]any // finds what stands twice, everywhere
			if err := errors.Join(node.Decode(&whole), node.Decode(lower(&node, m))); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if m.APIVersion == "" || m.Kind == "" || m.Metadata.Name == "" || m.Metadata.Namespace != "" {
				t.Errorf("%s: an object needs a version, a kind, a name, and no namespace: %+v", file, m.Metadata)
			}
			all = append(all, m)
		}
	}
	return all
}

// lower makes the keys of a node those that package yaml looks for by itself: the names
// of fields in lower case, as far as a field does not say otherwise.
func lower(n *yaml.Node, m *manifest) *manifest {
	tagged := []string{
		"apiVersion", "terminationGracePeriodSeconds", "securityContext", "runAsNonRoot", "enableServiceLinks", "containerPort",
		"envFrom", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "httpGet",
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && !slices.Contains(tagged, child.Value) && !strings.HasPrefix(child.Value, "BOSSMAN_") {
				child.Value = strings.ToLower(child.Value)
			}
			walk(child)
		}
	}
	walk(n)
	return m
}

func testUnit(t *testing.T) {
	unit := readDeploy(t, "systemd", "bossman.service")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/bossman (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("the unit starts nothing")
	}
	understood(t, "the unit", strings.Fields(line[1]))
	variables := map[string]string{}
	for text := range strings.Lines(readDeploy(t, "systemd", "bossman.env.example")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(text), "="); ok && !strings.HasPrefix(name, "#") {
			variables[name] = value
		}
	}
	knownVariables(t, "bossman.env", variables)
	var stop int
	if m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit); m != nil {
		_, _ = fmt.Sscan(m[1], &stop)
	}
	enough(t, "TimeoutStopSec", variables["BOSSMAN_LINGER"], stop)
	for _, want := range []string{"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "EnvironmentFile=/etc/bossman/bossman.env"} {
		if !strings.Contains(unit, "\n"+want+"\n") {
			t.Errorf("the unit has no %s", want)
		}
	}
}

func testDockerfile(t *testing.T) {
	file := readDeploy(t, "Dockerfile")
	root := filepath.Join("..", "..")
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(file, -1) {
		for _, name := range strings.Fields(m[1]) {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
	variables := map[string]string{}
	for _, m := range regexp.MustCompile(`(BOSSMAN_\w+)=(\S+)`).FindAllStringSubmatch(file, -1) {
		variables[m[1]] = m[2]
	}
	knownVariables(t, "Dockerfile", variables)
	last := file[strings.LastIndex(file, "\nFROM "):]
	if !strings.HasPrefix(last, "\nFROM scratch\n") || !regexp.MustCompile(`(?m)^USER [1-9]\d*:[1-9]\d*$`).MatchString(last) {
		t.Error("the image has more than the program, or runs it as root")
	}
	if cmd := regexp.MustCompile(`(?m)^CMD \["(.*)"\]$`).FindStringSubmatch(last); cmd == nil {
		t.Error("the image runs nothing")
	} else {
		understood(t, "the image", strings.Split(cmd[1], `", "`))
	}

	// Every folder that the program is built from is sent to the builder.
	ignore, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		top, _, _ := strings.Cut(strings.TrimPrefix(pkg, "github.com/bossman-dev/bossman/"), "/")
		if !strings.Contains(string(ignore), "\n!"+top+"\n") {
			t.Errorf(".dockerignore leaves out %s, which the program needs", top)
		}
	}
}

func readDeploy(t *testing.T, elem ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{deploy}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// understood fails if the program does not know a command line.
func understood(t *testing.T, where string, args []string) {
	t.Helper()
	cmd, rest, err := newApp().root().Find(args)
	if err == nil && !cmd.HasParent() {
		err = errors.New("there is no such command")
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s runs bossman %s: %v", where, strings.Join(args, " "), err)
	}
}

// knownVariables fails if the program does not look at a variable, or not like this.
func knownVariables(t *testing.T, where string, variables map[string]string) {
	t.Helper()
	serve, _, _ := newApp().root().Find([]string{"serve"})
	if err := config.ReadVariables(serve.LocalNonPersistentFlags(), func(name string) string { return variables[name] }); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	var known []string
	serve.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { known = append(known, config.FlagVariable(f.Name)) })
	for _, k := range config.Keys() {
		known = append(known, k.Env)
	}
	if len(variables) == 0 {
		t.Errorf("%s sets nothing", where)
	}
	for name := range variables {
		if !slices.Contains(known, name) {
			t.Errorf("%s sets %s, which nobody reads", where, name)
		}
	}
}

// enough fails if a server is killed before it has let go.
func enough(t *testing.T, what, linger string, seconds int) {
	t.Helper()
	const calls = 11 * time.Second // what calls get in streamable.Serve
	d, err := time.ParseDuration(linger)
	if have := time.Duration(seconds) * time.Second; err != nil || have < d+calls {
		t.Errorf("%s is %v; a server lingers %q, and calls get %v (%v)", what, have, linger, calls, err)
	}
}
