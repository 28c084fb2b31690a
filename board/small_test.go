package board

func init() { importTasks = 5 }
