package controller

// What the tests of this package call beside [New].
var (
	NewPublication = newPublication
	EachName       = eachName
)
