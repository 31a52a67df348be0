import { useTranslation } from 'react-i18next';
import { DeletePlace } from '../places/delete-place.tsx';
import type { Geofence } from './model.ts';
import { useDeleteGeofence } from './queries.ts';

export function DeleteGeofence({ geofence, onDeleted }: { geofence: Geofence; onDeleted: () => void }) {
  const { t } = useTranslation('geofences');
  const remove = useDeleteGeofence(geofence, onDeleted);
  return (
    <DeletePlace
      name={geofence.name}
      text={t(geofence.push_to_terminal ? 'deleteTextTerminals' : 'deleteText')}
      error={remove.error}
      isPending={remove.isPending}
      onDelete={() => remove.mutate()}
    />
  );
}
