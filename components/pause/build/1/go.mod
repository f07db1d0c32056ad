module clusterctl/components/pause/build/1

go 1.26.0
