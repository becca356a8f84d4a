package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
)

// The verdicts about a command whose requests went wrong on purpose.
const (
	Resilient    = "resilient"
	Degraded     = "degraded"
	Failed       = "failed"
	Inconclusive = "inconclusive"
)

// Verdict is what faults did to a command under test.
type Verdict struct {
	Verdict, Why string
	Command      string
	Faults       []string
	Took         time.Duration
}

// JUnit writes the verdict as one test case.
func (v *Verdict) JUnit(out io.Writer) error {
	made := junitCase{
		Class: "kx test", Name: escape.Line(v.Command + " with " + strings.Join(v.Faults, " and ")), Seconds: v.Took.Seconds(),
		Out: escape.Line(v.Verdict + ": " + v.Why),
	}
	suite := junitSuite{Name: "kx test", Tests: 1}
	problem := []junitFailure{{Message: escape.Line(v.Why), Type: v.Verdict}}
	switch v.Verdict {
	case Failed:
		made.Failures, suite.Failures = problem, 1
	case Inconclusive:
		made.Errors, suite.Errors = problem, 1
	}
	suite.Cases = []junitCase{made}
	return writeJUnit(out, suite)
}

func writeJUnit(out io.Writer, suite junitSuite) error {
	data, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, data)
	return err
}
