/** Severities of events, the highest first. */
export const severities = ['critical', 'warning', 'info'] as const;
export type Severity = (typeof severities)[number];

export const toSeverity = (value: string): Severity => (value === 'critical' || value === 'warning' ? value : 'info');
