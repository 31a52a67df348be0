/** Terminals of the makers' home zone, unless a record says otherwise (platform-contract.md, section 3). */
export const defaultCameraUtcOffset = '+08:00';

export const normalVehicleNo = (vehicleNo: string): string => vehicleNo.replaceAll(/\s/g, '').toUpperCase();
