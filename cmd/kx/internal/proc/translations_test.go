package proc

import "testing"

func TestEnglish(t *testing.T) {
	for _, test := range []struct {
		environment map[string]string
		want        bool
	}{
		{nil, true},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "C.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, false},
	} {
		if got := english(func(name string) string { return test.environment[name] }); got != test.want {
			t.Errorf("%v: English: %v, want %v", test.environment, got, test.want)
		}
	}
}
