package capture

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// page is a page around a capture.
func page(t *testing.T, journeys ...*v1alpha1.Journey) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<p>{\"kind\":\"KxCapture\"}\n\n" + PageBegin + "\n")
	w, err := NewWriter(InPage(&b), "https://127.0.0.1:7443", saved)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range journeys {
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString(PageEnd + "\n<p>behind it</p>\n")
	return b.String()
}

// TestPage reads a capture within a page, whatever is around it and in it.
func TestPage(t *testing.T) {
	hostile := journey("a-2")
	hostile.Status.Steps[0].Why = "</script><!-- <script> --> ]]> & \u2028"
	want := []*v1alpha1.Journey{journey("a-1"), hostile}
	text := page(t, want...)
	header, got, err := readAll(strings.NewReader(text))
	if err != nil || !header.Saved.Equal(saved) || !reflect.DeepEqual(asJSON(t, got), asJSON(t, want)) {
		t.Errorf("read %+v %s, %v\nwrote %s", header, asJSON(t, got), err, asJSON(t, want))
	}
	if _, inside, _ := strings.Cut(text, PageBegin); strings.Index(inside, "<") != strings.Index(inside, PageEnd) {
		t.Errorf("the element may end within the capture: %s", inside)
	}
}

// TestPageRefuses says what is wrong with a page.
func TestPageRefuses(t *testing.T) {
	good := page(t, journey("a-1"), journey("a-2"))
	end := strings.LastIndex(good, PageEnd)
	for _, test := range []struct {
		name, text, want string
		journeys         int
	}{
		{name: "another page", text: "<html>\n<p>\n", want: "holds no capture"},
		{name: "cut off before the capture", text: good[:20], want: "holds no capture"},
		{name: "cut off before the header", text: good[:strings.Index(good, PageBegin)+len(PageBegin)+1], want: "cut off"},
		{name: "cut off within a journey", text: good[:end-20], want: "cut off within line", journeys: 1},
		{name: "cut off behind a journey", text: good[:end], want: "cut off behind line", journeys: 2},
		{name: "cut off behind the capture", text: good[:end+len(PageEnd)], journeys: 2},
		{name: "nothing in it", text: "<p>\n" + PageBegin + "\n" + PageEnd, want: "empty"},
		{name: "a page in it", text: "<p>\n" + PageBegin + "\n<p>\n", want: "line 3"},
	} {
		_, all, err := readAll(strings.NewReader(test.text))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(all) != test.journeys {
			t.Errorf("%s: %d journeys, %v; want %d and %q", test.name, len(all), err, test.journeys, test.want)
		}
	}
}
