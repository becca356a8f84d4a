package lesson

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/core/trace"
)

// mostPorts limits the ports of a lesson.
const mostPorts = 20

// needs lists the tools that a lesson may require on the machine, beside sh.
var needs = []string{"go", "tools"}

// UnmarshalYAML reads the fault by the names that its type has in JSON.
func (m *Mutation) UnmarshalYAML(node *yamlv3.Node) error {
	var written struct {
		Of    string
		Serve []string
		Fault yamlv3.Node
	}
	if err := node.Decode(&written); err != nil {
		return err
	}
	m.Of, m.Serve = written.Of, written.Serve
	if written.Fault.IsZero() {
		return nil
	}
	text, err := yamlv3.Marshal(&written.Fault)
	if err != nil {
		return err
	}
	spec, problem := parseFault(text, trace.Names) // no fault strikes by a reason
	if problem != "" {
		return errors.New(problem)
	}
	m.Fault = spec
	return nil
}

var lineOfYAML = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)

// description reads what stands between the two first lines of dashes.
func (p *parser) description(d *Description) error {
	if len(p.lines) == 0 || strings.TrimRight(p.lines[0], " ") != "---" {
		return p.errorf(1, "expected a line of ---, and then the lesson's description")
	}
	end := slices.Index(p.lines[1:], "---")
	if end < 0 {
		return p.errorf(1, "the description has no end: expected a second line of ---")
	}
	p.next = end + 2
	decoder := yamlv3.NewDecoder(bytes.NewReader([]byte(strings.Join(p.lines[1:end+1], "\n"))))
	decoder.KnownFields(true)
	if err := decoder.Decode(d); err != nil && !errors.Is(err, io.EOF) {
		text, line := err.Error(), 1
		if m := lineOfYAML.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			text, line = text[len(m[0]):], n+1
		}
		return p.errorf(line, "the description can't be read: %s", text)
	}
	switch {
	case !name.MatchString(d.ID):
		return p.errorf(p.lineOf("id"), "expected id: NAME of small letters, digits and dashes")
	case strings.TrimSpace(d.Title) == "" || strings.Contains(d.Title, "\n"):
		return p.errorf(p.lineOf("title"), "expected title: a line")
	case strings.Contains(d.Learned, "\n"):
		return p.errorf(p.lineOf("learned"), "expected learned: a sentence on a line")
	case d.Minutes < 1 || d.Minutes > 120:
		return p.errorf(p.lineOf("minutes"), "expected minutes: 1 to 120")
	case d.Ports < 0 || d.Ports > mostPorts:
		return p.errorf(p.lineOf("ports"), "expected ports: 1 to %d", mostPorts)
	}
	for _, need := range d.Needs {
		if !slices.Contains(needs, need) {
			return p.errorf(p.lineOf("needs"), "needs %s: expected %s", need, strings.Join(needs, ", "))
		}
	}
	for _, track := range d.Tracks {
		if !slices.Contains(Tracks, track) {
			return p.errorf(p.lineOf("tracks"), "tracks %s: expected %s", track, joinTracks(Tracks))
		}
	}
	for _, flag := range d.Serve {
		if problem := checkServeFlag(flag); problem != "" {
			return p.errorf(p.lineOf("serve"), "serve: %s", problem)
		}
	}
	return p.mutation(d.Mutation)
}

// joinTracks lists tracks for an error.
func joinTracks(tracks []Track) string {
	var names []string
	for _, t := range tracks {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

// mutation checks the description's mutation; nil if there is none.
func (p *parser) mutation(m *Mutation) error {
	if m == nil {
		return nil
	}
	if m.Of == "" || (m.Fault == nil) == (m.Serve == nil) {
		return p.errorf(p.lineOf("mutation"), "mutation: expected of, and either serve or fault")
	}
	for _, flag := range m.Serve {
		if problem := checkServeFlag(flag); problem != "" {
			return p.errorf(p.lineOf("mutation"), "mutation: serve: %s", problem)
		}
	}
	return nil
}

// lineOf is the line on which a field of the description stands; the first one if it is not there.
func (p *parser) lineOf(field string) int {
	for i, line := range p.lines[:p.next] {
		if strings.HasPrefix(line, field+":") {
			return i + 1
		}
	}
	return 1
}
