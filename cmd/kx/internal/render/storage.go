package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/migrate"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Encryptions lists the keys and providers that encrypt the objects. If the configuration is known, it shows which
// objects must be written again.
func Encryptions(configured bool) Columns[admin.EncryptedBy] {
	row := func(c admin.EncryptedBy) []any {
		return []any{c.Resource, c.Provider, c.Key, Count(c.Objects), Bytes(c.Bytes)}
	}
	const titles = "RESOURCE  PROVIDER  KEY  OBJECTS  BYTES"
	if !configured {
		return columns(titles, row)
	}
	return columns(titles+"  REMAIN  NOTES", func(c admin.EncryptedBy) []any {
		var notes []string
		if c.Write {
			notes = append(notes, "writes today")
		}
		if c.Unreadable > 0 {
			notes = append(notes, Count(c.Unreadable).String()+" can't be read")
		}
		return append(row(c), Count(c.Remaining), strings.Join(notes, ", "))
	})
}

// Migrations lists the results of migrations.
var Migrations = columns("RESOURCE  OBJECTS  REWRITTEN  CURRENT  CHANGED  FAILED  STORED VERSIONS", func(r *migrate.Result) []any {
	versions := dash(strings.Join(r.StoredVersions, ", "))
	if len(r.Droppable) > 0 && !r.Dropped {
		versions += fmt.Sprintf(" (%s without objects: --drop-stored-versions)", strings.Join(r.Droppable, ", "))
	}
	return []any{r.Resource, Count(r.Objects), Count(r.Rewritten), Count(r.Current), Count(r.Changed + r.Gone), Count(r.Failed), versions}
})

// Trial writes the effects of a definition on the stored objects: a table of problems between two paragraphs, or one
// document.
type Trial struct {
	out      io.Writer
	table    *List[problem]
	sections *sections // nil for a table
}

// problem is a row of the table.
type problem struct{ namespace, name, version, what string }

// NewTrial begins the output; Close or Summary ends it.
func NewTrial(out io.Writer, format Format) *Trial {
	if format != Table {
		return &Trial{out: out, sections: newSections(out, format)}
	}
	return &Trial{out: out, table: NewList(out, format, columns("NAMESPACE  NAME  VERSION  WHAT IF", func(p problem) []any {
		return []any{p.namespace, p.name, p.version, p.what}
	}))}
}

// Definition writes whether the definition is valid.
func (t *Trial) Definition(d *whatif.Definition) error {
	if t.sections != nil {
		return t.sections.Value("definition", d)
	}
	as, verdict := "as a new one", "valid"
	if d.Installed {
		as = "as an update of the installed one"
	}
	if len(d.Errors) > 0 {
		verdict = "refused"
	}
	fmt.Fprintf(t.out, "%s: %s, %s\n", draw.Clean(d.Name), verdict, as)
	for _, text := range d.Errors {
		fmt.Fprintf(t.out, "  error: %s\n", draw.Clean(text))
	}
	for _, text := range d.Warnings {
		fmt.Fprintf(t.out, "  warning: %s\n", draw.Clean(text))
	}
	return nil
}

// Object writes the problems of an object.
func (t *Trial) Object(o *whatif.Object) error {
	if t.sections != nil {
		return t.sections.row("objects", o)
	}
	var rows []problem
	row := func(version, what string) { rows = append(rows, problem{o.Namespace, o.Name, version, what}) }
	for _, text := range o.Errors {
		row(o.Stored, "error: "+text)
	}
	for _, c := range o.Versions {
		for _, text := range c.Errors {
			row(c.Version, "error: "+text)
		}
		for _, field := range c.Lost {
			row(c.Version, "lost: "+field)
		}
		if len(c.Defaults) > 0 {
			row(c.Version, "defaults: "+strings.Join(c.Defaults, ", "))
		}
	}
	if len(rows) == 0 {
		row(o.Stored, "nothing")
	}
	for _, p := range rows {
		if err := t.table.Add(p); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the output for a definition that can't be tried.
func (t *Trial) Close() error {
	if t.sections != nil {
		return t.sections.Close()
	}
	return nil
}

// Summary ends the output.
func (t *Trial) Summary(s *whatif.Summary) error {
	if t.sections == nil {
		return t.paragraph(s)
	}
	if err := t.sections.endRows("objects"); err != nil {
		return err
	}
	if err := t.sections.Value("summary", s); err != nil {
		return err
	}
	return t.sections.Close()
}

func (t *Trial) paragraph(s *whatif.Summary) error {
	if err := t.table.Close(); err != nil {
		return err
	}
	var stored []string
	for _, version := range slices.Sorted(maps.Keys(s.Stored)) {
		stored = append(stored, fmt.Sprintf("%s in %s", Count(s.Stored[version]), draw.Clean(version)))
	}
	fmt.Fprintf(t.out, "objects: %s (%s); with errors: %s; would lose fields: %s; would get defaults: %s\n", Count(s.Objects),
		dash(strings.Join(stored, ", ")), Count(s.Errors), Count(s.Lost), Count(s.Defaulted))
	if s.Cost > 0 {
		fmt.Fprintf(t.out, "rules: the most that they cost is %s of %s, for %s\n", Count(s.Cost), Count(whatif.Budget),
			draw.Clean(s.CostKey))
	}
	if s.NotConverted > 0 {
		fmt.Fprintf(t.out, "conversion: %s objects were not converted: %s\n", Count(s.NotConverted), draw.Clean(s.Webhook))
	}
	return nil
}
