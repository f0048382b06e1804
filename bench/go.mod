module github.com/gust-stream/gust/bench

go 1.26.0

require (
	github.com/gust-stream/gust v0.0.0
	golang.org/x/sync v0.25.0
)

require (
	github.com/apache/thrift v0.25.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
)

replace github.com/gust-stream/gust => ../
