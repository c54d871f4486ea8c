"""A real Airflow for the nightly DAG."""
