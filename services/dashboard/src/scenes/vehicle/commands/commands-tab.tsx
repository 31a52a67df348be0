import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { NoPermission } from '../../../common/ui/no-permission.tsx';
import { CommandList } from './command-list.tsx';
import { SendForm } from './send-form.tsx';

/** Sends commands to the terminal of the vehicle and lists them with the terminal's own results. */
export function CommandsTab({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const isPermitted = vehicle.access === 'owner' ? can('commands') : vehicle.permissions.includes('commands');
  if (!isPermitted) return <NoPermission />;
  if (vehicle.imei === null) return <p>{t('commands.noTerminal')}</p>;
  return (
    <div className="vehicle-commands">
      <SendForm vehicle={vehicle} />
      <CommandList vehicleId={vehicle.id} />
    </div>
  );
}
