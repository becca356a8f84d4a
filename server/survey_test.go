package server_test

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kx-apiserver/kx/server/internal/wiretest/survey"
	"github.com/kx-apiserver/kx/server/options"
)

var (
	shownDifferences = flag.Int("differences", 12, "how many differences TestSurvey shows of a resource")
	whole            = flag.Bool("whole", false, "compare all that was recorded from a kube-apiserver: each case of TestSurvey, not a tenth, and the documents")
	showHeldBack     = flag.Bool("held-back", false, "let TestSurvey show the cases too that are held back: for the end, when the rules are written")
)

// surveyDir has the objects and what a kube-apiserver said to them: testdata/upstream records it.
var surveyDir = filepath.Join("testdata", "survey")

// TestSurvey asks kx what a kube-apiserver was asked, and compares the answers. With -whole it fails where too little is equal, and
// where something is different for no reason that testdata/survey/exceptions.yaml names. docs/compatibility.md has the result; -rewrite
// writes it anew. Otherwise it asks a tenth of the cases, whose differences must have reasons.
func TestSurvey(t *testing.T) {
	t.Parallel()
	server := func() survey.Server {
		r := start(t, administratorToken(t), uncollected, func(o *options.Options) {
			o.InitialObjects, o.RuntimeConfig = true, map[string]string{"api/beta": "true"}
			o.Admission.Disabled = survey.Deciding
			o.Tokens.Issuers = []string{"https://kubernetes.default.svc"} // as was recorded: token reviews name audiences
		})
		return survey.Server{URL: r.URL, Client: r.tokenClient(t, "secret")}
	}
	// What others may do depends on the roles and bindings that there are, and those of the survey come and go.
	kx, reviewer := server(), server()
	sources, err := survey.Sources(surveyDir, survey.Ending)
	must(t, err)
	exceptions, err := survey.ReadExceptions(filepath.Join(surveyDir, "exceptions.yaml"))
	must(t, err)
	results := make([]*result, len(sources))
	t.Run("of", func(t *testing.T) {
		for i, source := range sources {
			t.Run(source.String(), func(t *testing.T) {
				t.Parallel()
				asked := kx
				if source.Group == authorizationv1.GroupName {
					asked = reviewer
				}
				results[i] = compareResource(t, asked, source, exceptions)
			})
		}
	})
	if slices.Contains(results, nil) {
		return // not all were asked for or counted, or one could not be compared
	}
	tallies := map[survey.Source]survey.Tally{}
	for _, r := range results {
		tallies[r.Source] = r.Tally
	}
	for _, wrong := range exceptions.JudgeAll(tallies) {
		t.Error(wrong)
	}
	compareDocument(t, results)
}

// administratorToken lets in the administrator as the one whom the kube-apiserver was asked by: some answers say who asked.
func administratorToken(t *testing.T) func(*options.Options) {
	return tokens(t, "secret,kx-admin,1,\"system:masters\"\n")
}

// result is what the comparison of one resource has come to.
type result struct {
	survey.Source
	survey.Tally
	exceptions survey.Exceptions
}

func compareResource(t *testing.T, kx survey.Server, source survey.Source, exceptions survey.Exceptions) *result {
	recorded, err := survey.Read(survey.File(surveyDir, source))
	must(t, err)
	documents, err := survey.Load(filepath.Join(surveyDir, "objects"), source)
	must(t, err)
	if recorded.Stale(documents) {
		t.Errorf("the objects of %s have changed: record them anew", source)
	}
	if !*whole {
		recorded.Records = tenth(recorded.Records)
	}
	records, err := kx.Ask(t.Context(), source.Resource, recorded.Documents, recorded.Cases())
	must(t, err)
	tally, err := survey.Compare(recorded, records)
	must(t, err)
	if !*whole {
		for _, wrong := range exceptions.Unexplained(source, tally, *showHeldBack) {
			t.Error(wrong)
		}
		return nil
	}
	t.Logf("%d cases: %d findings equal, %d different: %.2f %%", tally.Cases, len(tally.Equal), len(tally.Different), 100*tally.Share())
	if tally.Cases < len(recorded.Records) {
		t.Errorf("%d of %d cases were not asked: kx does not serve their versions", len(recorded.Records)-tally.Cases, len(recorded.Records))
	}
	showDifferences(t, recorded, tally)
	for _, wrong := range exceptions.Judge(source, tally, *showHeldBack) {
		t.Error(wrong)
	}
	return &result{source, tally, exceptions}
}

// tenth is every tenth case of a broken object, and all of whole ones, with which the others are compared.
func tenth(records []survey.Record) (some []survey.Record) {
	for i, r := range records {
		if r.At == "" || i%10 == 0 {
			some = append(some, r)
		}
	}
	return some
}

// showDifferences logs the first differences, each finding once, and how many cases were held back.
func showDifferences(t *testing.T, recorded survey.Recording, tally survey.Tally) {
	seen, shown, held := map[string]bool{}, 0, 0
	for _, d := range tally.Differences {
		if d.HeldBack() {
			held++
			if !*showHeldBack {
				continue
			}
		}
		key := fmt.Sprint(d.Findings)
		if seen[key] || shown == *shownDifferences {
			continue
		}
		seen[key] = true
		shown++
		t.Log(d.Describe(recorded.Documents))
	}
	t.Logf("%d cases differ, %d of them held back", len(tally.Differences), held)
}

// compareDocument compares the first part of docs/compatibility.md with the results.
func compareDocument(t *testing.T, results []*result) {
	comparePart(t, document(results), "TestSurvey", false)
}

func totals(results []*result) (equal, different int) {
	for _, r := range results {
		equal, different = equal+len(r.Equal), different+len(r.Different)
	}
	return equal, different
}

const documentHead = `# Compatibility

kx is correct where it answers as a kube-apiserver does. The tests that write this page compare the two.

A kube-apiserver v1.37.1 was given valid objects of every built-in resource in which one field at a time was broken: removed,
emptied, doubled, or set to an invalid value. Each was sent as a create, as an update, and as an update of the status.
The answers are in server/testdata/survey: codes, reasons, causes in their order, warnings, and what became of the object. kx is
asked the same. Reviews, which are answered and not stored, were only sent as a create. Admission plugins that decide about an
object by other objects were off.

A finding is one field of a version with one cause in the server's answers. It counts once, however many cases show it, and is
different if kx answers one of these cases differently.

| group | resource | cases | findings | equal | different |
| --- | --- | ---: | ---: | ---: | ---: |
`

// document is docs/compatibility.md.
func document(results []*result) string {
	var out strings.Builder
	out.WriteString(documentHead)
	row := func(group, resource string, cases, equal, different int) {
		all := equal + different
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %.1f %% | %d |\n", group, resource, cases, all, 100*float64(equal)/float64(max(all, 1)), different)
	}
	cases := 0
	for _, r := range results {
		cases += r.Cases
		row(cmp.Or(r.Group, "core"), r.Resource, r.Cases, len(r.Equal), len(r.Different))
	}
	equal, different := totals(results)
	row("all", "", cases, equal, different)
	writeExceptions(&out, results)
	return out.String()
}
