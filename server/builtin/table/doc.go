// Package table makes kubectl's tables of objects.
//
// It owns the walk from an object or a list to a metav1.Table. What comes in is a resource's columns and a function
// that makes a row of an object; what goes out is a rest.TableConvertor. Which of a row's object is sent (nothing, its
// metadata or all) is the handler's business: here every row holds its whole object.
//
// Columns of every width are made; the client leaves out those of a priority above 0 unless asked for a wide table.
package table
