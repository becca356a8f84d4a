package check

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/tui/disk"
)

// edit replaces lines of a file, from begin to before end, counted from 0.
type edit struct {
	begin, end int
	lines      []string
}

// write writes into the files of rows what the server answered, where that is not what they expect. All other lines
// stay as they are.
func write(rows []*row, results []*Result) error {
	files := map[string][]edit{}
	contents := map[string][]string{}
	for i, r := range rows {
		if results[i].Outcome != Unmet {
			continue
		}
		file := r.table.file
		if contents[file] == nil {
			if file == standardInput {
				return fmt.Errorf("--update-expect can't write to standard input: name the file of %q", r.title)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("write what the server answers into the rows: %w", err)
			}
			contents[file] = strings.SplitAfter(string(data), "\n")
		}
		edits, err := r.edits(contents[file], results[i].response)
		if err != nil {
			return err
		}
		files[file] = append(files[file], edits...)
		results[i].Outcome, results[i].Findings, results[i].Written = Met, nil, results[i].response.String()
	}
	for file, edits := range files {
		lines := contents[file]
		// Edits start at the end of the file, so that the line numbers of the others stay valid. A row may get lines at
		// its end where the next row begins with a replaced field: the replacement comes first.
		slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(b.begin-a.begin, b.end-a.end) })
		for _, e := range edits {
			lines = slices.Replace(lines, e.begin, e.end, e.lines...)
		}
		if err := replace(file, strings.Join(lines, "")); err != nil {
			return fmt.Errorf("write what the server answers into the rows: %w", err)
		}
	}
	return nil
}

// replace writes a file with the mode that it has. Of a link it is the file that the link leads to.
func replace(file, text string) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return disk.Replace(file, []byte(text), info.Mode().Perm())
}

// edits returns the edits that make a row expect an answer.
func (r *row) edits(lines []string, got *response) ([]edit, error) {
	if r.node.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("%s: the row %q is written in braces, where --update-expect can't add lines: write each field in a line",
			r.position(), r.title)
	}
	verdict, warnings := map[string]any{"accepted": true}, map[string]any{}
	switch {
	case len(got.refusals) > 0:
		verdict = map[string]any{"refused": oneOrAll(got.refusals)}
	case r.exact:
		changes := got.changes
		if changes == nil {
			changes = map[string]any{}
		}
		verdict["accepted"] = changes
	}
	if len(got.warnings) > 0 {
		warnings["warnings"] = oneOrAll(got.warnings)
	}
	var all []edit
	verdictKey := r.keys["accepted"]
	if verdictKey == nil {
		verdictKey = r.keys["refused"]
	}
	for _, of := range []struct {
		key  *yaml.Node
		now  map[string]any
		lack []Finding
	}{
		{verdictKey, verdict, r.compareVerdict(got)},
		{r.keys["warnings"], warnings, r.compareTexts("warning", r.warnings, got.warnings, Position{})},
	} {
		if len(of.lack) == 0 {
			continue
		}
		e, err := r.edit(lines, of.key, of.now)
		if err != nil {
			return nil, err
		}
		all = append(all, e...)
	}
	return all, nil
}

func oneOrAll(texts []string) any {
	if len(texts) == 1 {
		return texts[0]
	}
	return texts
}

// edit returns the edit that writes a field: over the one with a key, or at the end of the row if key is nil.
func (r *row) edit(lines []string, key *yaml.Node, field map[string]any) ([]edit, error) {
	last := r.node.Content[len(r.node.Content)-2]
	at := key
	if at == nil {
		at = last
	}
	begin := r.table.at(at).Line - 1
	end := extent(lines, begin, at.Column-1)
	if key == nil {
		if len(field) == 0 {
			return nil, nil
		}
		begin = end
	}
	var text bytes.Buffer
	if len(field) > 0 {
		encoder := yaml.NewEncoder(&text)
		encoder.SetIndent(2)
		if err := encoder.Encode(field); err != nil {
			return nil, err
		}
	}
	var now []string
	for line := range strings.Lines(text.String()) {
		now = append(now, strings.Repeat(" ", at.Column-1)+line)
	}
	if key != nil {
		// What stands before the key in its line, such as the dash of the row, stays; so does the comment behind it.
		before := string([]rune(lines[begin])[:key.Column-1])
		if len(now) == 0 {
			if strings.TrimSpace(before) == "" {
				return []edit{{begin, end, nil}}, nil
			}
			now = []string{key.Value + ": []\n"} // the row begins with the field
		}
		now[0] = before + strings.TrimLeft(now[0], " ")
		if comment := r.comment(key); comment != "" {
			now[0] = strings.TrimSuffix(now[0], "\n") + " " + comment + "\n"
		}
	}
	if key == nil && begin > 0 && !strings.HasSuffix(lines[begin-1], "\n") {
		now = append([]string{"\n"}, now...)
	}
	return []edit{{begin, end, now}}, nil
}

// comment returns the comment in the line of a key.
func (r *row) comment(key *yaml.Node) string {
	for i := 0; i+1 < len(r.node.Content); i += 2 {
		if value := r.node.Content[i+1]; r.node.Content[i] == key {
			if key.LineComment != "" {
				return key.LineComment
			}
			if value.Line == key.Line {
				return value.LineComment
			}
		}
	}
	return ""
}

// extent returns the line after the field that begins in a line and a column: what is indented more belongs to it, and
// the items of a list that are indented as much. Comments belong to what follows them.
func extent(lines []string, begin, column int) int {
	end := begin + 1
	for i := begin + 1; i < len(lines); i++ {
		text := strings.TrimRight(lines[i], " \r\n")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		switch {
		case text == "", text[indent] == '#':
		case indent > column, indent == column && strings.HasPrefix(text[indent:], "- "):
			end = i + 1
		default:
			return end
		}
	}
	return end
}
