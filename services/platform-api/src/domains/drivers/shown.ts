import { shownAttributes } from '../../fields.ts';
import { shownRecord } from '../../schemas.ts';
import type { Driver, DriverShown } from './schema.ts';

/** A driver with the vehicles whose records name the driver, as far as they may be named. */
export const shownDriver = (
  driver: Driver,
  vehicleIds: readonly number[],
  isNamed: (vehicleId: number) => boolean = () => true,
): DriverShown => ({
  ...shownRecord(driver),
  name: driver.name,
  phone_number: driver.phoneNumber,
  email: driver.email,
  address: driver.address,
  photo_url: driver.photoUrl,
  notes: driver.notes,
  license_number: driver.licenseNumber,
  license_class: driver.licenseClass,
  license_country: driver.licenseCountry,
  license_issue_date: driver.licenseIssueDate,
  license_expiry_date: driver.licenseExpiryDate,
  date_of_birth: driver.dateOfBirth,
  blood_group: driver.bloodGroup,
  emergency_contact:
    driver.emergencyContact === null
      ? null
      : { name: driver.emergencyContact.name, phone_number: driver.emergencyContact.phoneNumber },
  card_number: driver.cardNumber,
  vehicle_ids: vehicleIds.filter(isNamed),
  current_vehicle_id:
    driver.currentVehicleId !== null && isNamed(driver.currentVehicleId) ? driver.currentVehicleId : null,
  status: driver.status,
  attributes: shownAttributes(driver.attributes),
});
