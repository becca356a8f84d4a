package yaml

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// words are texts that mean something else without quotes. The empty string is one: it means null.
var words = func() map[string]bool {
	words := map[string]bool{"": true, "~": true, ".nan": true, ".NaN": true, ".NAN": true}
	for _, word := range []string{"y", "yes", "true", "on", "n", "no", "false", "off", "null"} {
		words[word] = true
		words[strings.ToUpper(word)] = true
		words[strings.ToUpper(word[:1])+word[1:]] = true
	}
	for _, sign := range []string{"", "+", "-"} {
		for _, word := range []string{".inf", ".Inf", ".INF"} {
			words[sign+word] = true
		}
	}
	return words
}()

// longestWord is "-.inf".
const longestWord = 5

var (
	float = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	// sexagesimal is a number such as 1:30, which YAML 1.1 has.
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)
	// times are the forms of those that YAML knows.
	times = []string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2"}
)

// means says whether s without quotes means something else than a string.
func means(s []byte) bool {
	if len(s) <= longestWord && words[string(s)] {
		return true
	}
	switch c := s[0]; {
	case c == '.':
		_, err := strconv.ParseFloat(string(s), 64)
		return err == nil
	case c != '+' && c != '-' && (c < '0' || c > '9'):
		return false
	}
	for _, c := range s {
		if !inNumber[c] {
			return false
		}
	}
	return isNumber(string(s))
}

// inNumber are the bytes that numbers and times have.
var inNumber = func() (is [256]bool) {
	for _, c := range "0123456789abcdefABCDEFxXoO+-_.,: TtZz" {
		is[c] = true
	}
	return is
}()

func isNumber(s string) bool {
	if len(s) > 4 && s[4] == '-' && strings.Trim(s[:4], "0123456789") == "" {
		for _, form := range times {
			if _, err := time.Parse(form, s); err == nil {
				return true
			}
		}
	}
	if sexagesimal.MatchString(s) {
		return true
	}
	digits := strings.ReplaceAll(s, "_", "")
	if _, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return true
	}
	if _, err := strconv.ParseUint(digits, 0, 64); err == nil {
		return true
	}
	if float.MatchString(digits) {
		_, err := strconv.ParseFloat(digits, 64)
		return err == nil
	}
	// Go knows binary numbers too, but takes these signs only in front.
	if binary, ok := strings.CutPrefix(digits, "0b"); ok {
		_, err := strconv.ParseInt(binary, 2, 64)
		return err == nil
	}
	if binary, ok := strings.CutPrefix(digits, "-0b"); ok {
		_, err := strconv.ParseInt("-"+binary, 2, 64)
		return err == nil
	}
	return false
}
