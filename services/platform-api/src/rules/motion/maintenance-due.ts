import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';

/** The last reported service. */
interface MaintenanceState {
  readonly serviceKm: number;
}

/** Finds `maintenance_due`: the vehicle's mileage reaches `attributes.next_service_km`; once for each value. */
export const maintenanceDueRule: Rule<MaintenanceState> = {
  name: 'maintenance_due',
  takesLate: false,
  step(state, report, { vehicle: { odometerKm, nextServiceKm } }): Outcome<MaintenanceState> {
    if (nextServiceKm === null || odometerKm < nextServiceKm || state?.serviceKm === nextServiceKm)
      return noFindings(state);
    const attributes = { odometer_km: Math.round(odometerKm * 10) / 10, next_service_km: nextServiceKm };
    const finding = findingAt(report, { type: 'maintenance_due', subject: '', attributes });
    return { state: { serviceKm: nextServiceKm }, findings: [finding], updates: [], mustPersist: true };
  },
};
