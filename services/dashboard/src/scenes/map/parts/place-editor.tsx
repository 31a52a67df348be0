import { CloseButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { GeofenceEditor } from '../../../common/geofences/geofence-editor.tsx';
import { NewGeofence } from '../../../common/geofences/new-geofence.tsx';
import type { ShapeState } from '../../../common/places/use-shape.ts';
import type { Preview } from '../../../common/routes/preview.ts';
import { NewRoute, RoutePanel } from '../../../common/routes/route-panel.tsx';
import { type Edit, formatEdit } from '../search.ts';
import '../../../common/places/places.css';

export interface PlaceEditorProps {
  readonly edit: Edit;
  readonly editing: ShapeState;
  readonly onPreview: (preview: Preview | null) => void;
  /** Opens another place; without one the panel closes. */
  readonly onEdit: (edit: Edit | null) => void;
}

/** Draws a geofence or a route on the live map, or changes one. */
export function PlaceEditor({ edit, editing, onPreview, onEdit }: PlaceEditorProps) {
  const { t } = useTranslation('map');
  const { kind, id, shape } = edit;
  const close = (): void => onEdit(null);
  const open = (created: number): void => onEdit({ ...edit, id: created });
  return (
    // Another place begins at the top of the panel.
    <section key={formatEdit(edit)} className="map-panel map-editor places-side card" aria-label={t(`edit.${kind}`)}>
      <CloseButton className="map-editor-close" aria-label={t('common:action.close')} onClick={close} />
      {kind === 'geofence' && id === null ? (
        <NewGeofence
          kind={shape}
          editing={editing}
          onKind={(other) => onEdit({ ...edit, shape: other })}
          onCreated={open}
          onCancel={close}
        />
      ) : null}
      {kind === 'geofence' && id !== null ? <GeofenceEditor id={id} editing={editing} onClose={close} /> : null}
      {kind === 'route' && id === null ? (
        <NewRoute editing={editing} onPreview={onPreview} onCreated={open} onCancel={close} />
      ) : null}
      {kind === 'route' && id !== null ? (
        <RoutePanel id={id} editing={editing} onPreview={onPreview} onClose={close} />
      ) : null}
    </section>
  );
}
