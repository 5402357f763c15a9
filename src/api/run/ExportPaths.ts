/** Where runs are exported. Plain data: the web UI links to them. */
export const exportPaths = { csv: "/api/runs/export.csv", jsonl: "/api/runs/export.jsonl" } as const
