/** Where lists are exported. Plain data: the web UI links to them. */
export const runExports = { csv: "/api/runs/export.csv", jsonl: "/api/runs/export.jsonl" } as const
export const auditExports = { csv: "/api/audit/export.csv", jsonl: "/api/audit/export.jsonl" } as const
