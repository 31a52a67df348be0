import { parseAttributes } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import type { Driver, DriverResponse } from './schema.ts';

/** Returns a driver with the vehicles assigned to the driver, as far as the caller may see them. */
export const toDriverResponse = (
  driver: Driver,
  vehicleIds: readonly number[],
  canNameVehicle: (vehicleId: number) => boolean = () => true,
): DriverResponse => ({
  ...toRecordResponse(driver),
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
  vehicle_ids: vehicleIds.filter(canNameVehicle),
  current_vehicle_id:
    driver.currentVehicleId !== null && canNameVehicle(driver.currentVehicleId) ? driver.currentVehicleId : null,
  status: driver.status,
  attributes: parseAttributes(driver.attributes),
});
