package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wanted are the weaknesses that security.md must say something of.
const wanted = `
CVE-2018-1002105 CVE-2019-11253 CVE-2019-11254 CVE-2019-1002100
CVE-2020-8552 CVE-2020-8559 CVE-2020-8561 CVE-2021-25735 CVE-2021-25740
CVE-2022-3172 CVE-2022-3294 CVE-2023-2727 CVE-2023-2728 CVE-2023-39325 CVE-2023-44487 CVE-2023-45288
CVE-2024-3177 CVE-2024-7598 CVE-2025-5187
GHSA-c8w2-fgvx-vhv4 kubernetes#126133 kubernetes#65470 etcd#20655`

// testOf is a test that a row names, with its package: `server: TestBombs`.
var testOf = regexp.MustCompile("`([a-z][\\w/]*): (Test\\w+)`")

// inapplicable begins the reason why a weakness can't concern kx.
var inapplicable = regexp.MustCompile(`[Dd]oes not apply, because \w+ \w+`)

// weakness is a row of the tables of security.md.
type weakness struct {
	ids, what, stand, tests string
}

func weaknesses(text string) (rows []weakness) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || strings.HasPrefix(cells[0], " id") || strings.HasPrefix(cells[0], " ---") {
			continue
		}
		rows = append(rows, weakness{strings.TrimSpace(cells[0]), cells[1], cells[2], cells[3]})
	}
	return rows
}

// mistakes are those of the rows. has says whether a package has a test.
func mistakes(rows []weakness, has func(pkg, test string) bool) (all []string) {
	var ids []string
	for _, row := range rows {
		ids = append(ids, regexp.MustCompile(`[\w-]+(#\d+)?`).FindAllString(row.ids, -1)...)
		tests := testOf.FindAllStringSubmatch(row.tests, -1)
		if len(tests) == 0 && !inapplicable.MatchString(row.stand) {
			all = append(all, row.ids+" names no test, and no reason why it does not apply")
		}
		for _, test := range tests {
			if !has(test[1], test[2]) {
				all = append(all, row.ids+": package "+test[1]+" has no "+test[2])
			}
		}
		if strings.Count(row.tests, "Test") != len(tests) {
			all = append(all, row.ids+" names a test without its package")
		}
	}
	for _, id := range strings.Fields(wanted) {
		if !slices.Contains(ids, id) {
			all = append(all, "no row is about "+id)
		}
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			all = append(all, "two rows are about "+id)
		}
	}
	return all
}

// hasTest looks for a test in the files of a directory.
func hasTest(t *testing.T) func(pkg, test string) bool {
	known := map[string][]string{}
	return func(pkg, test string) bool {
		if _, ok := known[pkg]; !ok {
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range parsed.Decls {
					if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
						known[pkg] = append(known[pkg], f.Name.Name)
					}
				}
			}
		}
		return slices.Contains(known[pkg], test)
	}
}

// TestWeaknesses holds security.md against the tests: each known weakness has a test that exists, or a reason why kx can't have it.
func TestWeaknesses(t *testing.T) {
	rows := weaknesses(read(t, "security.md"))
	if len(rows) < 30 {
		t.Errorf("security.md has %d rows", len(rows))
	}
	for _, mistake := range mistakes(rows, hasTest(t)) {
		t.Error(mistake)
	}
}

// TestPromises finds the tests that SECURITY.md and the rest of security.md name.
func TestPromises(t *testing.T) {
	has := hasTest(t)
	policy, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testOf.FindAllStringSubmatch(string(policy)+read(t, "security.md"), -1)
	if len(tests) == 0 {
		t.Error("no test is named")
	}
	for _, test := range tests {
		if !has(test[1], test[2]) {
			t.Errorf("package %s has no %s", test[1], test[2])
		}
	}
}

// TestWeaknessesWrong has rows with each mistake.
func TestWeaknessesWrong(t *testing.T) {
	var all strings.Builder
	for _, id := range strings.Fields(wanted)[1:] {
		all.WriteString("| " + id + " | what | does not apply, because kx has none | |\n")
	}
	has := func(pkg, test string) bool { return pkg == "server" && test == "TestA" }
	const first, none = "| CVE-2018-1002105", "CVE-2018-1002105 names no test, and no reason why it does not apply"
	for row, want := range map[string]string{
		first + " | what | how | `server: TestA` |":                                 "",
		first + " | what | how |  |":                                                none,
		first + " | what | does not apply |  |":                                     none,
		first + " | what | how | `server: TestB` |":                                 "CVE-2018-1002105: package server has no TestB",
		first + " | what | how | `store: TestA` |":                                  "CVE-2018-1002105: package store has no TestA",
		first + " | what | how | `server: TestA`, TestB |":                          "CVE-2018-1002105 names a test without its package",
		"| CVE-2018-1002106 | what | how | `server: TestA` |":                       "no row is about CVE-2018-1002105",
		first + ", CVE-2019-11253 | what | does not apply, because kx has none | |": "two rows are about CVE-2019-11253",
	} {
		got := strings.Join(mistakes(weaknesses(row+"\n"+all.String()), has), "\n")
		if got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
}
