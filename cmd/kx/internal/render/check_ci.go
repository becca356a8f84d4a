package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"github.com/kx-apiserver/kx/cmd/kx/internal/check"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/version"
)

// checkJUnit writes a test case for each document.
type checkJUnit struct {
	out   io.Writer
	cases []junitCase
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	File     string         `xml:"file,attr,omitempty"`
	Line     int            `xml:"line,attr,omitempty"`
	Seconds  float64        `xml:"time,attr,omitempty"`
	Failures []junitFailure `xml:"failure"`
	Errors   []junitFailure `xml:"error"`
	Out      string         `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// Result implements Check.
func (c *checkJUnit) Result(r *check.Result) error {
	made := junitCase{Class: r.File, Name: escape.Line(r.Subject()), File: r.File, Line: r.Line}
	for i := range r.Findings {
		f := &r.Findings[i]
		text := escape.Line(sentence(r, f))
		failure := junitFailure{Message: text, Type: string(f.Level), Text: fmt.Sprintf("%s: %s", f.Position, text)}
		switch f.Level {
		case check.Refusal, check.Mismatch:
			made.Failures = append(made.Failures, failure)
		case check.Failure:
			made.Errors = append(made.Errors, failure)
		default:
			made.Out += fmt.Sprintf("%s: %s: %s\n", f.Position, outcomes[f.Level], text)
		}
	}
	c.cases = append(c.cases, made)
	return nil
}

// Summary implements Check.
func (c *checkJUnit) Summary(s *check.Summary) error {
	suite := junitSuite{Name: "kx check", Tests: s.Documents + s.Rows, Failures: s.Refused + s.Unmet, Errors: s.Unchecked, Cases: c.cases}
	for _, list := range notes(s) {
		for _, note := range list.all {
			suite.Out += fmt.Sprintf("%s: %s: %s\n", note.Position, list.name, escape.Line(note.Text))
		}
	}
	return writeJUnit(c.out, suite)
}

// checkSARIF writes a log in the Static Analysis Results Interchange Format.
type checkSARIF struct {
	out     io.Writer
	results []sarifResult
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful bool `json:"executionSuccessful"`
}

type sarifResult struct {
	Rule      string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			Line   int `json:"startLine"`
			Column int `json:"startColumn"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

// sarifRules are the rules, by what a result is.
var sarifRules = []sarifRule{
	{string(check.Refusal), sarifText{"The API server refuses the object."}},
	{string(check.Warning), sarifText{"The API server warns of the object."}},
	{string(check.Failure), sarifText{"The API server could not be asked about the object."}},
	{string(check.Mismatch), sarifText{"The API server answers a row otherwise than it expects."}},
	{"note", sarifText{"The set refers to something that is not in it or was not called."}},
}

func (c *checkSARIF) add(rule, level, text string, at check.Position) {
	r := sarifResult{Rule: rule, Level: level, Message: sarifText{escape.Line(text)}, Locations: make([]sarifLocation, 1)}
	place := &r.Locations[0].Physical
	place.Artifact.URI = (&url.URL{Path: filepath.ToSlash(at.File)}).String()
	place.Region.Line, place.Region.Column = at.Line, at.Column
	c.results = append(c.results, r)
}

// Result implements Check.
func (c *checkSARIF) Result(r *check.Result) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		level := "error"
		if f.Level == check.Warning {
			level = "warning"
		}
		c.add(string(f.Level), level, r.Subject()+": "+outcomes[f.Level]+": "+sentence(r, f), f.Position)
	}
	return nil
}

// Summary implements Check.
func (c *checkSARIF) Summary(s *check.Summary) error {
	for _, list := range notes(s) {
		for _, note := range list.all {
			c.add("note", "note", list.name+": "+note.Text, note.Position)
		}
	}
	run := sarifRun{ColumnKind: "unicodeCodePoints", Invocations: []sarifInvocation{{Successful: s.Unchecked == 0}}, Results: c.results}
	if run.Results == nil {
		run.Results = []sarifResult{} // null would say that nothing was looked for
	}
	run.Tool.Driver = sarifDriver{Name: "kx check", Version: version.Release, Rules: sarifRules}
	return WriteOne(c.out, JSON, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
