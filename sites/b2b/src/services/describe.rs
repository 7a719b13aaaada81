//! The descriptions of the services for programs: WSDL 1.1 with a binding for SOAP 1.2, and
//! OpenAPI 3.1.

use serde_json::{Value, json};

use super::{LIMIT_MS, Service};
use crate::message::json::schema;
use crate::message::xml::{NAMESPACE, escape, schema_of};

/// Path of the one address for SOAP.
pub const SOAP: &str = "/soap";

/// The WSDL of the services at this URL (scheme, host and port): document/literal, wrapped.
///
/// Source: WSDL 1.1; WSDL 1.1 Binding Extension for SOAP 1.2.
pub fn wsdl(url: &str) -> String {
    let mut address = String::new();
    escape(url, &mut address);
    let each = |of: fn(Service) -> String| Service::ALL.map(of).concat();
    let types = each(|it| {
        let name = it.name();
        format!(
            "<xs:element name=\"{name}\">{}</xs:element><xs:element name=\"{name}Response\">{}</xs:element>",
            schema_of(it.request()),
            schema_of(it.answer())
        )
    });
    let messages = each(|it| {
        let name = it.name();
        format!(
            "<message name=\"{name}\"><part name=\"parameters\" element=\"b:{name}\"/></message>\
             <message name=\"{name}Response\"><part name=\"parameters\" element=\"b:{name}Response\"/></message>"
        )
    });
    let port = each(|it| {
        let name = it.name();
        format!(
            "<operation name=\"{name}\"><documentation>{}</documentation>\
             <input message=\"b:{name}\"/><output message=\"b:{name}Response\"/></operation>",
            it.about()
        )
    });
    let binding = each(|it| {
        let name = it.name();
        format!(
            "<operation name=\"{name}\"><soap:operation soapAction=\"{NAMESPACE}:{name}\"/>\
             <input><soap:body use=\"literal\"/></input><output><soap:body use=\"literal\"/></output></operation>"
        )
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <definitions name=\"B2b\" targetNamespace=\"{NAMESPACE}\" xmlns=\"http://schemas.xmlsoap.org/wsdl/\" \
         xmlns:b=\"{NAMESPACE}\" xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap12/\">\
         <documentation>Services between businesses, derived from TPC-App; not comparable with its results.</documentation>\
         <types><xs:schema targetNamespace=\"{NAMESPACE}\" elementFormDefault=\"qualified\">{types}</xs:schema></types>\
         {messages}<portType name=\"B2bPort\">{port}</portType>\
         <binding name=\"B2bSoap12\" type=\"b:B2bPort\">\
         <soap:binding style=\"document\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>{binding}</binding>\
         <service name=\"B2b\"><port name=\"B2bSoap12\" binding=\"b:B2bSoap12\">\
         <soap:address location=\"{address}{SOAP}\"/></port></service></definitions>\n"
    )
}

/// The OpenAPI description of the services at this URL.
///
/// Source: OpenAPI 3.1.
pub fn openapi(url: &str) -> Value {
    let fault = |text: &str| {
        json!({"description": text, "content": {"application/json":
            {"schema": {"$ref": "#/components/schemas/Fault"}}}})
    };
    let path = |it: Service| {
        let operation = json!({
            "operationId": it.name(),
            "summary": it.about(),
            "x-response-time-limit-ms": LIMIT_MS,
            "security": if it.is_for_customers() {
                json!([{"token": []}, {"certificate": []}])
            } else {
                json!([])
            },
            "requestBody": {"required": true, "content": {"application/json":
                {"schema": schema(it.request())}}},
            "responses": {
                "200": {"description": "The answer.", "content": {"application/json":
                    {"schema": schema(it.answer())}}},
                "4XX": fault("The request is refused, and nothing was changed."),
                "5XX": fault("The service failed; the request may be repeated."),
            },
        });
        (it.path().to_owned(), json!({"post": operation}))
    };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Services between businesses",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Derived from TPC-App; not comparable with its results.",
        },
        "servers": [{"url": url}],
        "paths": Service::ALL.into_iter().map(path).collect::<serde_json::Map<_, _>>(),
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            },
            "schemas": {"Fault": {
                "type": "object", "required": ["error"], "properties": {"error": {
                    "type": "object", "required": ["code", "message"], "properties": {
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "field": {"type": "string"},
                    },
                }},
            }},
        },
    })
}
