import type { VehicleState } from '../live/protocol.ts';
import type { Severity } from './severity.ts';

/** Shapes of the states in a box of 24 by 24, drawn in the list and on the map. */
export const statePaths: Readonly<Record<VehicleState, string>> = {
  moving: 'M12 2 L20 21 L12 16.5 L4 21 Z',
  idle: 'M12 2.5 a9.5 9.5 0 1 0 .01 0 Z M8.5 7.5 h2.5 v9 h-2.5 Z M13 7.5 h2.5 v9 h-2.5 Z',
  stopped:
    'M6 3.5 h12 a2.5 2.5 0 0 1 2.5 2.5 v12 a2.5 2.5 0 0 1 -2.5 2.5 h-12 a2.5 2.5 0 0 1 -2.5 -2.5 v-12 a2.5 2.5 0 0 1 2.5 -2.5 Z',
  offline: 'M12 2.5 a9.5 9.5 0 1 0 .01 0 Z M12 5.5 a6.5 6.5 0 1 1 -.01 0 Z M17 4.5 L19.5 7 L7 19.5 L4.5 17 Z',
  never_connected: 'M12 2.5 a9.5 9.5 0 1 0 .01 0 Z M12 5.5 a6.5 6.5 0 1 1 -.01 0 Z',
};

/** Name of the token that colours each state. */
export const stateTokens = {
  moving: 'moving',
  idle: 'idle',
  stopped: 'stopped',
  offline: 'offline',
  never_connected: 'offline',
} as const satisfies Record<VehicleState, string>;

/** Shows the state of a vehicle by shape and colour. The text of the state stands beside it. */
export function StateMark({ state, course = 0, size = 16 }: { state: VehicleState; course?: number; size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 24 24" className="state-mark">
      <path
        d={statePaths[state]}
        fillRule="evenodd"
        fill={`var(--fleet-${stateTokens[state]})`}
        transform={state === 'moving' ? `rotate(${course} 12 12)` : undefined}
      />
    </svg>
  );
}

export const severityPaths = {
  critical: 'M8 2 h8 l6 6 v8 l-6 6 h-8 l-6 -6 v-8 Z M11 6.5 h2 v7.5 h-2 Z M11 15.5 h2 v2.5 h-2 Z',
  warning: 'M12 2 L23 21 H1 Z M11 8.5 h2 v6 h-2 Z M11 16 h2 v2.5 h-2 Z',
  info: 'M12 7 a5 5 0 1 0 .01 0 Z',
} as const;
export const severityTokens = { critical: 'critical', warning: 'idle', info: 'moving' } as const;

export { toSeverity } from './severity.ts';

/** Shows the severity of an event by shape and colour. */
export function SeverityMark({ severity, label }: { severity: Severity; label: string }) {
  return (
    <svg role="img" aria-label={label} width={18} height={18} viewBox="0 0 24 24" className="state-mark">
      <path d={severityPaths[severity]} fillRule="evenodd" fill={`var(--fleet-${severityTokens[severity]})`} />
    </svg>
  );
}
