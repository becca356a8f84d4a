package filter

import "testing"

func TestAsks(t *testing.T) {
	for text, want := range map[string]bool{
		"":                             false,
		"verb:get":                     false,
		"step:etcd.txn":                true,
		"verb:get step:etcd.txn":       true,
		"verb:get !(name:a | step~^e)": true,
		"dur>5ms":                      true,
		"code>400":                     false,
		"anything":                     true,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Asks("step", "dur"); got != want {
			t.Errorf("%q asks: %v, want %v", text, got, want)
		}
	}
}
