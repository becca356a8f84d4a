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
		f, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Asks("step", "dur"); got != want {
			t.Errorf("%q asks: %v, want %v", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]bool{
		"":                               false,
		"verb:install":                   true,
		"VERB:install resource:pods":     true,
		"verb:get,install":               true,
		"verb:get | verb:install":        true,
		"verb:install code:200 | code:1": true,
		"verb:get":                       false,
		"verb:*":                         false,
		"verb:i*":                        false,
		"verb~install":                   false,
		"!verb:install":                  false,
		"verb!=install":                  false,
		"install":                        false,
		"name:install":                   false,
	} {
		f, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Names("verb", "install"); got != want {
			t.Errorf("%q names it: %v, want %v", text, got, want)
		}
	}
}
