import { ApiFailure } from '@fleet/api-client';
import { Badge, Button, Group } from '@mantine/core';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Driver } from '../../common/fleet/vehicle.ts';
import { useCan } from '../../common/session/session-context.ts';
import { Facts } from '../../common/ui/facts.tsx';
import { NotFound } from '../../common/ui/not-found.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { AssignedVehicles } from './parts/assigned-vehicles.tsx';
import { DeleteDriver } from './parts/delete-driver.tsx';
import { Documents } from './parts/documents.tsx';
import { DriverEvents } from './parts/driver-events.tsx';
import { EditDriver } from './parts/edit-driver.tsx';
import { LicenceEnd } from './parts/licence-end.tsx';
import { useDriver } from './queries.ts';
import './drivers.css';

/** Shows one driver: licence, contact, vehicles, documents and events. */
export function DriverPage() {
  const { driverId } = useParams({ strict: false });
  const id = Number(driverId);
  const driver = useDriver(id);
  if (!Number.isSafeInteger(id)) return <NotFound />;
  if (driver.isPending) return <Loading />;
  if (driver.isError) {
    if (driver.error instanceof ApiFailure && [400, 404].includes(driver.error.status)) return <NotFound />;
    return <Failure error={driver.error} onRetry={() => void driver.refetch()} />;
  }
  return <DriverDetails key={id} driver={driver.data} />;
}

function DriverDetails({ driver }: { driver: Driver }) {
  const { t } = useTranslation('drivers');
  const can = useCan();
  const navigate = useNavigate();
  const [isEditing, setIsEditing] = useState(false);
  return (
    <div className="page">
      <Group justify="space-between" mb="md">
        <h1>
          {driver.name} {driver.status === 'inactive' ? <Badge variant="default">{t('status.inactive')}</Badge> : null}
        </h1>
        {can('fleet') ? <Button onClick={() => setIsEditing(true)}>{t('edit')}</Button> : null}
      </Group>
      <div className="driver-grid">
        <FactsOfDriver driver={driver} />
        <AssignedVehicles driver={driver} />
        {can('fleet') ? <Documents driver={driver} /> : null}
        <DriverEvents driver={driver} />
        {can('fleet') ? <DeleteDriver driver={driver} onDeleted={() => void navigate({ to: '/drivers' })} /> : null}
      </div>
      {isEditing ? <EditDriver driver={driver} onClose={() => setIsEditing(false)} /> : null}
    </div>
  );
}

function FactsOfDriver({ driver }: { driver: Driver }) {
  const { t, i18n } = useTranslation('drivers');
  const formatDate = (date: string | null): string =>
    date === null
      ? '–'
      : new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(date));
  const { emergency_contact: emergency } = driver;
  const phone = (number: string | null): ReactNode => (number === null ? '–' : <a href={`tel:${number}`}>{number}</a>);
  const licence: [string, ReactNode][] = [
    [t('field.license_number'), driver.license_number ?? '–'],
    [t('field.license_class'), driver.license_class ?? '–'],
    [t('field.license_country'), driver.license_country ?? '–'],
    [t('field.license_issue_date'), formatDate(driver.license_issue_date)],
    [t('field.license_expiry_date'), <LicenceEnd key="end" driver={driver} />],
  ];
  const contact: [string, ReactNode][] = [
    [t('field.phone_number'), phone(driver.phone_number)],
    [t('field.email'), driver.email === null ? '–' : <a href={`mailto:${driver.email}`}>{driver.email}</a>],
    [t('field.address'), driver.address ?? '–'],
    [t('field.date_of_birth'), formatDate(driver.date_of_birth)],
    [t('field.blood_group'), driver.blood_group ?? '–'],
    [t('field.card_number'), driver.card_number ?? '–'],
    [
      t('emergency'),
      emergency === null ? (
        '–'
      ) : (
        <>
          {emergency.name} {phone(emergency.phone_number)}
        </>
      ),
    ],
  ];
  return (
    <>
      <section className="card" aria-label={t('section.licence')}>
        <h2>{t('section.licence')}</h2>
        <Facts facts={licence} />
      </section>
      <section className="card" aria-label={t('section.contact')}>
        <h2>{t('section.contact')}</h2>
        <Facts facts={contact} />
        {driver.notes === null || driver.notes === '' ? null : <p className="message-text">{driver.notes}</p>}
      </section>
    </>
  );
}
