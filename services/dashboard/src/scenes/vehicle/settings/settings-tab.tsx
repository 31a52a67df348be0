import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { NoPermission } from '../../../common/ui/no-permission.tsx';
import { DeleteCard } from './delete-card.tsx';
import { RecordForm } from './record-form.tsx';

/** Shows the record of the vehicle, and its deletion. */
export function SettingsTab({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const navigate = useNavigate();
  if (!can('fleet')) return <NoPermission />;
  if (vehicle.access !== 'owner') return <p>{t('settings.shared')}</p>;
  return (
    <div className="vehicle-settings">
      <RecordForm vehicle={vehicle} />
      <DeleteCard vehicle={vehicle} onDeleted={() => void navigate({ to: '/vehicles' })} />
    </div>
  );
}
