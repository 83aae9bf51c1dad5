module clusterwright.invalid/tools/kubernetes/pause

go 1.24.0
