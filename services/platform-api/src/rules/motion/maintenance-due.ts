import { raisedBy } from '../of-report.ts';
import { type Outcome, quiet, type Rule } from '../rule.ts';

/** The service of which was told. */
export interface MaintenanceState {
  readonly serviceKm: number;
}

/** `maintenance_due`: the vehicle's kilometres reach `attributes.next_service_km`; once for each such number. */
export const maintenanceDueRule: Rule<MaintenanceState> = {
  name: 'maintenance_due',
  takesLate: false,
  step(state, report, { vehicle: { odometerKm, nextServiceKm } }): Outcome<MaintenanceState> {
    if (nextServiceKm === null || odometerKm < nextServiceKm || state?.serviceKm === nextServiceKm) return quiet(state);
    const attributes = { odometer_km: Math.round(odometerKm * 10) / 10, next_service_km: nextServiceKm };
    const raised = raisedBy(report, { type: 'maintenance_due', subject: '', attributes });
    return { state: { serviceKm: nextServiceKm }, raised: [raised], amended: [], turned: true };
  },
};
